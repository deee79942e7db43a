import { $ } from "bun"
import type { ClosedLoop, Load } from "./traffic.ts"

/** Posts in a closed loop by autocannon, where wrk is not installed. It takes three times the CPU. */
export async function postByAutocannon(url: string, run: ClosedLoop): Promise<Load> {
  if (run.paths !== undefined || run.keys !== undefined)
    throw new Error("autocannon sends one request again and again; install wrk")
  const program = Bun.fileURLToPath(import.meta.resolve("autocannon"))
  const headers = [...run.headers].flatMap(([name, value]) => ["-H", `${name}=${value}`])
  const printed =
    await $`node ${program} -c ${run.connections} -d ${run.seconds} -m POST -H content-type=application/json ${headers} -i ${run.bodyFile} -j --no-progress ${url}`
      .quiet()
      .text()
  const found = JSON.parse(printed) as {
    requests: { total: number }
    duration: number
    latency: { p50: number; p99: number; p99_9: number; max: number }
    non2xx: number
    errors: number
  }
  if (found.non2xx + found.errors > 0) {
    throw new Error(`${found.non2xx} answers were not 2xx, ${found.errors} connections failed`)
  }
  const { p50, p99, p99_9: p999, max: longest } = found.latency
  return { requests: found.requests.total, seconds: found.duration, p50, p99, p999, longest }
}
