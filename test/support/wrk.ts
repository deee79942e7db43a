import { $ } from "bun"
import { join } from "node:path"
import { hasTools } from "./tools.ts"

/** What the answers of a run were. */
export interface Answered {
  readonly ok: number
  readonly unavailable: number
  /** 503s that do not say when to send again. */
  readonly withoutRetryAfter: number
  readonly other: number
  /** Connections that failed, and requests without an answer within a minute. */
  readonly failed: number
  readonly seconds: number
  readonly p99Ms: number
}

/** As `hasTools`. */
export const hasWrk = (): boolean => hasTools("wrk")

const SCRIPT = `
wrk.method = "POST"
local file = io.open(os.getenv("WRK_BODY"), "rb")
wrk.body = file:read("*a")
file:close()
local threads = {}
function setup(thread) table.insert(threads, thread) end
function init() ok = 0; unavailable = 0; silent = 0; other = 0 end
function response(status, headers)
  if status == 200 then ok = ok + 1
  elseif status == 503 then
    unavailable = unavailable + 1
    if not headers["Retry-After"] then silent = silent + 1 end
  else other = other + 1 end
end
function done(summary, latency)
  local e, t = summary.errors, threads[1]
  io.write(string.format("@%d %d %d %d %d %f %f\\n", t:get("ok"), t:get("unavailable"), t:get("silent"),
    t:get("other"), e.connect + e.read + e.write + e.timeout, summary.duration / 1e6, latency:percentile(99) / 1000))
end
`

/**
 * Posts a body over so many connections, each sending its next request as soon as the last one was answered, whatever the
 * answer.
 *
 * @param folder where its files go
 */
export async function load(
  url: string,
  {
    folder,
    body,
    connections,
    seconds,
  }: { folder: string; body: string; connections: number; seconds: number },
): Promise<Answered> {
  const [script, bodyFile] = [join(folder, "load.lua"), join(folder, "body")]
  await Bun.write(script, SCRIPT)
  await Bun.write(bodyFile, body)
  const printed = await $`wrk -t1 -c${connections} -d${seconds}s --timeout 60s -s ${script} ${url}`
    .env({ ...process.env, WRK_BODY: bodyFile })
    .text()
  const fields = /^@(.*)$/m.exec(printed)![1]!.split(" ").map(Number)
  const [ok, unavailable, withoutRetryAfter, other, failed, took, p99Ms] = fields as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  return { ok, unavailable, withoutRetryAfter, other, failed, seconds: took, p99Ms }
}
