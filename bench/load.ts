import { $ } from "bun"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** What one run of load saw. Latencies in milliseconds. */
export interface Load {
  requests: number
  seconds: number
  p50: number
  p99: number
}

interface Run {
  connections: number
  /** Beside the content type. */
  headers: Headers
  /** How long; a whole number. */
  seconds: number
}

/**
 * Posts a body over a number of connections, each sending its next request when the last one was answered (a closed
 * loop), by wrk where it is installed, else by autocannon.
 *
 * @throws Error when an answer was not 2xx or a connection failed: such a run measures nothing
 */
export async function post(url: string, body: string, run: Run): Promise<Load> {
  const bodyFile = join(tmpdir(), `hookline-bench-${process.pid}.json`)
  await Bun.write(bodyFile, body)
  try {
    return await (loadGenerator === "wrk" ? postByWrk : postByAutocannon)(url, bodyFile, run)
  } finally {
    await Bun.file(bodyFile).delete()
  }
}

export const loadGenerator = Bun.which("wrk") === null ? "autocannon" : "wrk"

const WRK_SCRIPT = `
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
for name, value in string.gmatch(os.getenv("BENCH_HEADERS"), "([^\\n=]+)=([^\\n]+)") do wrk.headers[name] = value end
local file = io.open(os.getenv("BENCH_BODY"), "rb")
wrk.body = file:read("*a")
file:close()
function done(summary, latency)
  local e = summary.errors
  io.write(string.format("@%d %d %f %f %d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
`

async function postByWrk(url: string, bodyFile: string, run: Run): Promise<Load> {
  const script = join(tmpdir(), `hookline-bench-${process.pid}.lua`)
  await Bun.write(script, WRK_SCRIPT)
  try {
    const printed = await $`wrk -t1 -c${run.connections} -d${run.seconds}s --latency -s ${script} ${url}`
      .env({ ...process.env, BENCH_BODY: bodyFile, BENCH_HEADERS: toLines(run.headers) })
      .text()
    const fields = /^@(\d+) (\d+) ([\d.]+) ([\d.]+) (\d+)$/m.exec(printed)!.slice(1).map(Number)
    const [requests, us, p50us, p99us, errors] = fields as [number, number, number, number, number]
    if (errors > 0) throw new Error(`${errors} of ${requests} requests failed:\n${printed}`)
    return { requests, seconds: us / 1e6, p50: p50us / 1000, p99: p99us / 1000 }
  } finally {
    await Bun.file(script).delete()
  }
}

async function postByAutocannon(url: string, bodyFile: string, run: Run): Promise<Load> {
  const program = Bun.fileURLToPath(import.meta.resolve("autocannon"))
  const headers = toLines(run.headers)
    .split("\n")
    .flatMap((line) => (line === "" ? [] : ["-H", line]))
  const printed =
    await $`node ${program} -c ${run.connections} -d ${run.seconds} -m POST -H content-type=application/json ${headers} -i ${bodyFile} -j --no-progress ${url}`
      .quiet()
      .text()
  const found = JSON.parse(printed) as {
    requests: { total: number }
    duration: number
    latency: { p50: number; p99: number }
    non2xx: number
    errors: number
  }
  if (found.non2xx + found.errors > 0) {
    throw new Error(`${found.non2xx} answers were not 2xx, ${found.errors} connections failed`)
  }
  const { p50, p99 } = found.latency
  return { requests: found.requests.total, seconds: found.duration, p50, p99 }
}

/** A line each: `name=value`. */
const toLines = (headers: Headers): string =>
  [...headers].map(([name, value]) => `${name}=${value}`).join("\n")
