import { $ } from "bun"
import { join } from "node:path"
import { temporaryFolder } from "../test/support/hookline.ts"
import { runWrk } from "../test/support/wrk.ts"

/** What one run of load saw. Latencies in milliseconds. */
export interface Load {
  requests: number
  seconds: number
  p50: number
  p99: number
  p999: number
  /** The longest, where the load generator tells. */
  longest?: number
}

/**
 * How requests come. In a closed loop each of so many connections sends its next request when the last one was
 * answered. In an open loop so many requests come every second whatever the answers do, and a latency counts from the
 * moment that the request was due, so that those which a slow answer kept back are not left out.
 */
export type Arrivals = { readonly connections: number } | { readonly rate: number }

export interface Traffic {
  readonly body: string
  readonly arrivals: Arrivals
  /** Beside the content type. */
  readonly headers: Headers
  /** How long; a whole number. */
  readonly seconds: number
  /** Posted to in turn, in place of the URL's own path; in a closed loop alone. */
  readonly paths?: readonly string[] | undefined
  /** Each request has one of so many keys in the header X-Key, in turn; in a closed loop alone. */
  readonly keys?: number | undefined
}

/**
 * Posts a body again and again: in a closed loop by wrk, in an open loop by oha.
 *
 * @throws Error when an answer was not 2xx or a connection failed: such a run measures nothing
 */
export async function post(url: string, traffic: Traffic): Promise<Load> {
  using folder = temporaryFolder()
  const { arrivals } = traffic
  return "rate" in arrivals
    ? await postByOha(url, traffic, arrivals.rate, folder.path)
    : await postByWrk(url, { ...traffic, ...arrivals, folder: folder.path })
}

const SCRIPT = `
wrk.headers["Content-Type"] = "application/json"
for name, value in string.gmatch(os.getenv("BENCH_HEADERS"), "([^\\n=]+)=([^\\n]+)") do wrk.headers[name] = value end
if os.getenv("BENCH_PATHS") ~= "" then
  local requests, at = {}, 0
  function init()
    for path in string.gmatch(os.getenv("BENCH_PATHS"), "[^\\n]+") do requests[#requests + 1] = wrk.format(nil, path) end
  end
  function request()
    at = at % #requests + 1
    return requests[at]
  end
end
local keys = tonumber(os.getenv("BENCH_KEYS"))
if keys ~= nil then
  local at = 0
  function request()
    at = at % keys + 1
    wrk.headers["X-Key"] = "key-" .. at
    return wrk.format()
  end
end
function done(summary, latency)
  local e = summary.errors
  found("requests", summary.requests, "seconds", summary.duration / 1e6, "longest", latency.max / 1e3,
    "p50", latency:percentile(50) / 1e3, "p99", latency:percentile(99) / 1e3, "p999", latency:percentile(99.9) / 1e3,
    "errors", e.connect + e.read + e.write + e.status + e.timeout)
end
`

async function postByWrk(
  url: string,
  run: Traffic & { readonly connections: number; readonly folder: string },
): Promise<Load> {
  const { errors, ...load } = await runWrk<Load & { errors: number }>(url, SCRIPT, {
    ...run,
    timeoutSeconds: 10,
    env: {
      BENCH_HEADERS: [...run.headers].map(([name, value]) => `${name}=${value}`).join("\n"),
      BENCH_PATHS: (run.paths ?? []).join("\n"),
      BENCH_KEYS: String(run.keys ?? ""),
    },
  })
  if (errors > 0) throw new Error(`${errors} of ${load.requests} requests failed`)
  return load
}

/** A script as those of the peers, which becomes oha. */
export const OHA = join(import.meta.dir, "peers/oha/start")
/** Enough that 10,000 requests a second find a free one while answers take 25 ms. */
const CONNECTIONS = 256

/** Of what oha prints with `--output-format json`. Times in seconds. */
interface Printed {
  summary: { total: number }
  latencyPercentiles: { p50: number; p99: number; "p99.9": number }
  statusCodeDistribution: { [status: string]: number }
  errorDistribution: { [error: string]: number }
}

/** Requests that are out at the end are waited for, or their latencies would be missing. */
async function postByOha(
  url: string,
  { body, headers, seconds }: Traffic,
  rate: number,
  folder: string,
): Promise<Load> {
  const bodyFile = join(folder, "body")
  await Bun.write(bodyFile, body)
  const more = [...headers].flatMap(([name, value]) => ["-H", `${name}: ${value}`])
  const request = ["-m", "POST", "-T", "application/json", "-D", bodyFile, ...more, url]
  const program = [OHA, "--latency-correction", "-w", "--no-tui", "--output-format", "json"]
  const { summary, latencyPercentiles, statusCodeDistribution, errorDistribution }: Printed =
    await $`${program} -z ${seconds}s -q ${rate} -c ${CONNECTIONS} ${request}`.json()
  const { "200": requests = 0, ...others } = statusCodeDistribution
  if (Object.keys(others).length + Object.keys(errorDistribution).length > 0) {
    throw new Error(
      `not every request was answered 200: ${JSON.stringify({ ...others, ...errorDistribution })}`,
    )
  }
  const { p50, p99, "p99.9": p999 } = latencyPercentiles
  return { requests, seconds: summary.total, p50: p50 * 1000, p99: p99 * 1000, p999: p999 * 1000 }
}
