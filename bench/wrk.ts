import { $ } from "bun"
import { join } from "node:path"
import type { ClosedLoop, Load } from "./traffic.ts"

const SCRIPT = `
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
for name, value in string.gmatch(os.getenv("BENCH_HEADERS"), "([^\\n=]+)=([^\\n]+)") do wrk.headers[name] = value end
local file = io.open(os.getenv("BENCH_BODY"), "rb")
wrk.body = file:read("*a")
file:close()
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
  io.write(string.format("@%d %d %f %f %f %f %d\\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), latency:percentile(99.9), latency.max, e.connect + e.read + e.write + e.status + e.timeout))
end
`

/** Posts in a closed loop by wrk (https://github.com/wg/wrk). */
export async function postByWrk(url: string, run: ClosedLoop): Promise<Load> {
  const script = join(run.folder, "post.lua")
  await Bun.write(script, SCRIPT)
  const env = {
    ...process.env,
    BENCH_BODY: run.bodyFile,
    BENCH_HEADERS: [...run.headers].map(([name, value]) => `${name}=${value}`).join("\n"),
    BENCH_PATHS: (run.paths ?? []).join("\n"),
    BENCH_KEYS: run.keys === undefined ? "" : String(run.keys),
  }
  const printed =
    await $`wrk -t1 -c${run.connections} -d${run.seconds}s --timeout 10s --latency -s ${script} ${url}`
      .env(env)
      .text()
  const fields = /^@(\d+) (\d+) ([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+) (\d+)$/m
    .exec(printed)
    ?.slice(1)
    .map(Number)
  if (fields === undefined) throw new Error(`wrk said nothing of what it measured:\n${printed}`)
  const [requests, us, ...latenciesUs] = fields as [number, number, number, number, number, number]
  const errors = latenciesUs.pop()!
  if (errors > 0) throw new Error(`${errors} of ${requests} requests failed:\n${printed}`)
  const [p50, p99, p999, longest] = latenciesUs.map((one) => one / 1000) as [number, number, number, number]
  return { requests, seconds: us / 1e6, p50, p99, p999, longest }
}
