import { runWrk } from "../test/support/wrk.ts"
import type { Load, Traffic } from "./traffic.ts"

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

/** Posts a body in a closed loop. @param run with the folder for files that are needed meanwhile */
export async function postByWrk(
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
