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

const POST = `
wrk.method = "POST"
local file = io.open(os.getenv("WRK_BODY"), "rb")
wrk.body = file:read("*a")
file:close()
function found(...)
  local members = {}
  for i = 1, select("#", ...), 2 do
    members[#members + 1] = string.format('"%s":%f', select(i, ...), (select(i + 1, ...)))
  end
  io.write("\\n@{" .. table.concat(members, ",") .. "}\\n")
end
`

const COUNT = `
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
  found("ok", t:get("ok"), "unavailable", t:get("unavailable"), "withoutRetryAfter", t:get("silent"), "other", t:get("other"),
    "failed", e.connect + e.read + e.write + e.timeout, "seconds", summary.duration / 1e6, "p99Ms", latency:percentile(99) / 1000)
end
`

export interface WrkRun {
  /** Where its files go. */
  readonly folder: string
  readonly body: string
  readonly connections: number
  readonly seconds: number
}

/**
 * Posts a body over so many connections by wrk (https://github.com/wg/wrk), each sending its next request as soon as the last
 * one was answered.
 *
 * @param script in Lua, whose `done` calls `found(name, figure, …)`
 * @returns the figures that it found
 */
export async function runWrk<T>(
  url: string,
  script: string,
  run: WrkRun & { readonly timeoutSeconds: number; readonly env?: { readonly [name: string]: string } },
): Promise<T> {
  const { folder, connections, seconds, timeoutSeconds } = run
  const [scriptFile, bodyFile] = [join(folder, "load.lua"), join(folder, "body")]
  await Bun.write(scriptFile, POST + script)
  await Bun.write(bodyFile, run.body)
  const printed =
    await $`wrk -t1 -c${connections} -d${seconds}s --timeout ${timeoutSeconds}s -s ${scriptFile} ${url}`
      .env({ ...process.env, ...run.env, WRK_BODY: bodyFile })
      .text()
  const found = /^@(.*)$/m.exec(printed)?.[1]
  if (found === undefined) throw new Error(`wrk said nothing of what it measured:\n${printed}`)
  return JSON.parse(found) as T
}

/** Posts whatever the answers are, and counts these. */
export const load = (url: string, run: WrkRun): Promise<Answered> =>
  runWrk(url, COUNT, { ...run, timeoutSeconds: 60 })
