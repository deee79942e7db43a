import { afterEach, expect, test } from "bun:test"
import { cpSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import pino from "pino"
import { recordsInLog, fillLog, untilEpochsArePast } from "../../../test/support/embedded-log.ts"
import { GITHUB_ENDPOINT, GITHUB_TOKEN, GitHubHook } from "../../../test/support/github-hook.ts"
import { temporaryFolder } from "../../../test/support/hookline.ts"
import { openEmbeddedReader } from "../../brokers/embedded/reader.ts"
import { HOUR_MS, type Certificate } from "./certificate.ts"
import { Ledger, ledgerIn } from "./ledger-database.ts"
import { LISTINGS } from "./listings.ts"
import { Reconciler } from "./reconciler.ts"
import { SenderApi } from "./sender-api.ts"

const opened: AsyncDisposableStack[] = []
afterEach(async () => {
  for (const it of opened.splice(0)) await it.disposeAsync()
})

/** A hook of GitHub's whose deliveries are published to a log, and reconcilers of processes one after the other. */
async function start() {
  const stack = new AsyncDisposableStack()
  opened.push(stack)
  const folder = stack.use(temporaryFolder())
  const directory = join(folder.path, "log")
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      await fillLog(directory, "hooks", [{ value: Buffer.from(request.headers.get("x-github-delivery")!) }])
      return new Response()
    },
  })
  stack.defer(() => server.stop(true))
  const url = `http://127.0.0.1:${server.port}/hook`
  const hook = stack.use(new GitHubHook(url))
  hook.redeliversFirst = true
  // in an hour that is certified once its clock is right
  hook.aheadMs = -2 * HOUR_MS
  // before now, by a clock of whole seconds
  hook.deliveredAgoMs = 1500
  const stopping = new AbortController()
  stack.defer(() => stopping.abort())
  const lines: string[] = []
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) })
  const certificates: Certificate[] = []
  /** One process: makes a pass, and closes. */
  const pass = async (): Promise<Certificate> => {
    const access = { credentials: GITHUB_TOKEN, api: hook.api, endpoint: GITHUB_ENDPOINT }
    const listing = { ...LISTINGS["github"]!, latencyMs: 60, perHour: 3_600_000 }
    const reconciler = new Reconciler({
      id: "github",
      provider: "github",
      api: new SenderApi(listing, access, stopping.signal, { pauses: { first: 5, longest: 20 } }),
      ledger: new Ledger(ledgerIn(folder.path, "github"), log),
      index: undefined,
      shared: undefined,
      target: { problem: async () => undefined, inject: undefined, isAt: () => true },
      openLog: async () => openEmbeddedReader(directory),
      windowMs: 24 * HOUR_MS,
      everyMs: 1000,
      certified: async (it) => void certificates.push(it),
      log,
      signal: stopping.signal,
    })
    const found = await reconciler.pass()
    await reconciler.close()
    return found
  }
  const send = async (...guids: string[]): Promise<void> => {
    for (const guid of guids) await hook.send(guid)
  }
  const inLog = async (): Promise<string[]> =>
    (await recordsInLog(directory, "hooks")).map(({ value }) => Buffer.from(value).toString())
  return { directory, file: join(directory, "log.sqlite"), hook, send, pass, inLog, lines, certificates }
}

const hourOf = (all: readonly Certificate[], ofMs: number): Certificate | undefined =>
  all.findLast(({ from }) => Date.parse(from) === Math.floor(ofMs / HOUR_MS) * HOUR_MS)

test.each<[string, (file: string) => void, readonly string[]]>([
  ["was deleted", (file) => rmSync(file), []],
  ["is an earlier copy", (file) => renameSync(`${file}.copy`, file), ["a", "b"]],
])(
  "events whose records a log that %s lacks are no longer certified, and asked for again",
  async (_, replace, left) => {
    const { file, hook, directory, send, pass, inLog, lines, certificates } = await start()
    const atMs = Date.now() - 2 * HOUR_MS
    await send("a", "b")
    expect(await pass()).toMatchObject({ listed: 2, missing: 0 })
    cpSync(file, `${file}.copy`)
    await send("c", "d")
    expect(await pass()).toMatchObject({ listed: 4, missing: 0 })
    hook.aheadMs = 0
    hook.deliveredAgoMs = 0
    await pass()
    const { revision, ...before } = hourOf(certificates, atMs)!
    expect(before).toMatchObject({ listed: 4, missing: 0 })
    // not listed before the process ends
    await send("e")
    replace(file)
    await untilEpochsArePast()
    await fillLog(directory, "other", [{ value: Buffer.from("first") }])
    const missing = 5 - left.length
    expect(await pass()).toMatchObject({ listed: 5, missing, recovered: missing, open: 0 })
    expect((await inLog()).toSorted()).toEqual(["a", "b", "c", "d", "e"])
    const line = "the log does not have all records of events that were compared"
    expect(lines.filter((it) => it.includes(line))).toHaveLength(1)
    const after = hourOf(certificates, atMs)!
    expect(after).toMatchObject({ listed: 4, missing: missing - 1, recovered: missing - 1 })
    expect(after.revision).toBeGreaterThan(revision)
    // knowingly, and once
    expect(await pass()).toMatchObject({ listed: 5, open: 0 })
    expect(lines.filter((line) => line.includes("the log does not have all records"))).toHaveLength(1)
    expect(await inLog()).toHaveLength(5)
  },
)
