import { beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import type { StoredRecord } from "../../src/brokers/broker.ts"
import type { Record } from "../../src/pipeline/record.ts"
import { fillLog, openLog, recordsInLog } from "../support/embedded-log.ts"
import { hookline, startHookline, folderOfTests } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"
import { Receiver } from "../support/receiver.ts"
import { startCommand } from "../support/running-command.ts"
import { PROGRAM } from "../support/program.ts"

const COUNT = 300
const START_MS = Date.parse("2026-11-20T10:00:00Z")
const folder = folderOfTests()
const path = (name: string): string => join(folder.path, name)
const CONFIGURATION = `[connection:here]
directory = here
[connection:same]
directory = ./there/../here
[connection:there]
directory = there
[connection:away]
bootstrap_servers = 127.0.0.1:1
`
const records = Array.from({ length: COUNT }, (_, n): Omit<Record, "topic"> => ({
  key: n % 5 === 0 ? undefined : Buffer.from(`k${n % 7}`),
  value:
    n % 50 === 1
      ? Buffer.alloc(0)
      : n % 50 === 2
        ? Buffer.from([0, 255, 10, n & 255])
        : Buffer.from(`{"n":${n}}`),
  headers: [
    ["n", Buffer.from([n & 255, 0])],
    ["n", Buffer.alloc(0)],
  ],
  timestampMs: START_MS + n * 1000,
}))

beforeAll(async () => {
  await Bun.write(path("pipelines.conf"), CONFIGURATION)
  await fillLog(path("here"), "in", records)
})

const replay = (...args: string[]) => hookline(["replay", ...args], { cwd: folder.path })
const startReplay = (...args: string[]) => startCommand(["replay", ...args], folder.path)
const contents = (all: readonly StoredRecord[]) =>
  all.map(({ key, value, headers, timestampMs }) => ({ key, value, headers, timestampMs }))
const upTo = (count: number, first = 0): number[] => Array.from({ length: count }, (_, n) => first + n)

test("a topic of one log is published to another: values, keys, headers, times and order are the same", async () => {
  const { status, stdout, stderr } = await replay("--from", "here/in", "--to", "there/copy")
  expect([status, stderr]).toEqual([0, ""])
  expect(stdout).toMatch(/^300 records replayed, in [\d.]+ s \(\d+\/s\)\n$/)
  expect(contents(await recordsInLog(path("there"), "copy"))).toEqual(
    contents(await recordsInLog(path("here"), "in")),
  )
})

test("--timestamps new gives records the time of the replay", async () => {
  const before = Date.now()
  await replay("--from", "here/in@10..12", "--to", "there/new", "--timestamps", "new")
  const times = (await recordsInLog(path("there"), "new")).map(({ timestampMs }) => timestampMs)
  expect(times).toHaveLength(2)
  expect(Math.min(...times)).toBeGreaterThanOrEqual(before)
})

describe("a range", () => {
  test.each([
    ["@100..200", [], upTo(100, 100)],
    ["@290..", [], upTo(10, 290)],
    ["@..3", [], [0, 1, 2]],
    ["@250..9999", [], upTo(50, 250)],
    ["@2026-11-20T10:01:00Z..2026-11-20T10:01:10Z", [], upTo(10, 60)],
    ["@2026-11-20T10:04:50Z..", [], upTo(10, 290)],
    ["@..2026-11-20T10:00:02.500Z", [], [0, 1, 2]],
    ["@2027-01-01..", [], []],
    ["@100..200", ["--where", "json:/n=12*"], upTo(10, 120)],
    ["@..40", ["--where", "key=k3", "--where", "json:/n=1*"], [17]],
    ["@..10", ["--partition", "0"], upTo(10)],
  ] as const)("%s with %j has the records that it names", async (range, flags, expected) => {
    await using receiver = new Receiver()
    const { status, stdout, stderr } = await replay(
      "--from",
      `here/in${range}`,
      "--to",
      receiver.url,
      ...flags,
      "--json",
    )
    expect([status, stderr]).toEqual([0, ""])
    expect(JSON.parse(stdout)).toMatchObject({
      state: "done",
      replayed: expected.length,
      failed: 0,
      missed: 0,
    })
    expect(receiver.offsets).toEqual([...expected])
    const { stdout: counted } = await replay(
      "--from",
      `here/in${range}`,
      "--to",
      receiver.url,
      ...flags,
      "--dry-run",
    )
    expect(counted).toBe(`${expected.length} record${expected.length === 1 ? "" : "s"} would be replayed\n`)
    expect(receiver.all).toHaveLength(expected.length)
  })
})

test("--rate bounds the records a second", async () => {
  await using receiver = new Receiver()
  const begun = performance.now()
  expect((await replay("--from", "here/in@..40", "--to", receiver.url, "--rate", "50")).status).toBe(0)
  expect(performance.now() - begun).toBeGreaterThan(700)
  expect(receiver.offsets).toEqual(upTo(40))
})

test("on a terminal the bar shows the time left, and none at 100 %", async () => {
  let printed = ""
  const args = ["replay", "--from", "here/in@..100", "--to", "there/shown", "--rate", "60"]
  const child = Bun.spawn([...PROGRAM, ...args], {
    cwd: folder.path,
    env: { ...process.env, TERM: "xterm" },
    terminal: { cols: 200, data: (_, bytes) => void (printed += Buffer.from(bytes).toString()) },
  })
  expect(await child.exited).toBe(0)
  child.terminal!.close()
  const shown = Bun.stripANSI(printed).match(/\d+% \| \d+ of 100 \| [^\r\n█░]*/g) ?? []
  expect(shown.join("\n")).toMatch(/\/s \| \d+ s left/)
  expect(shown.filter((it) => it.startsWith("100%")).join("\n")).not.toContain("left")
  expect(shown.at(-1)).toStartWith("100% | 100 of 100 |")
})

test.each([
  [["--from", "here/in", "--to", "here/in"], 64, "--from and --to are the same topic"],
  [["--from", "here/in@5..", "--to", "same/in"], 64, "--from and --to are the same topic"],
  [["--from", "in", "--to", "there/x"], 64, "name the topic with its own: here/in or same/in or "],
  [["--from", "here/in", "--to", "x"], 64, "name the topic with its own: here/x or same/x or "],
  [["--from", "here/in@5", "--to", "there/x"], 64, "Expected a range as @100..200"],
  [["--from", "here/in@5..1h", "--to", "there/x"], 64, "A range is of two offsets or of two times"],
  [["--from", "here/in", "--to", "ftp://example.com/"], 64, "the target is not an http or https URL"],
  [
    ["--from", "nowhere/in", "--to", "there/x"],
    64,
    "unknown connection nowhere; the file has here, same, there, away",
  ],
  [["--from", "here/in", "--to", "there/x", "--partition", "3"], 64, "topic in has no partition 3; it has 1"],
  [["--from", "here/in", "--to", "there/x", "--where", "n=3"], 64, "Expected json:/pointer=pattern"],
  [["--from", "here/in", "--to", "there/x", "--rate", "0"], 64, "Expected a number above 0"],
  [["--from", "here/in", "--to", "there/x", "--name", "../x"], 64, '"../x" can\'t be a name'],
  [["--from", "here/in"], 64, "required option '--to <connection/topic>' not specified"],
  [["--from", "here/inn", "--to", "there/x"], 69, "The log has no topic inn; did you mean in?"],
  [["--from", "there-not/in", "--to", "there/x", "-c", "nothing.conf"], 66, "nothing.conf"],
] as const)("%j is refused", async (args, expected, message) => {
  const { status, stdout, stderr } = await replay(...args)
  expect([status, stdout]).toEqual([expected, ""])
  expect(stderr).toContain(message)
})

test("a log that a running Hookline writes is replayed to by that one, by its admin API", async () => {
  const at = folder.make("asked")
  const admin = await freePort()
  const configuration = `[connection:log]
directory = log
[admin]
listen = 127.0.0.1:${admin}
token = obviously-not-a-real-token
[pipeline:p:WebHookSource]
[pipeline:p:BrokerSink]
topic = in
`
  await using running = await startHookline(configuration, { folder: at })
  for (const n of [1, 2, 3]) await fetch(running.urls["p"]!, { method: "POST", body: `{"n":${n}}` })
  const again = (...flags: string[]): ReturnType<typeof hookline> =>
    hookline(["replay", "--from", "log/in", "--to", "log/again", ...flags], { cwd: at })
  expect(await again()).toEqual({
    status: 0,
    stdout: "3 records replayed\n",
    stderr: "connection log is open in a running Hookline, which does the replay\n",
  })
  const { status, stdout } = await again("--where", "json:/n=2", "--json")
  expect([status, JSON.parse(stdout)]).toMatchObject([0, { state: "done", replayed: 1, failed: 0 }])
  expect((await again("--partition", "0", "--rate", "100")).stdout).toBe("3 records replayed\n")
  const stored = await recordsInLog(join(at, "log"), "again")
  expect(stored.map(({ value }) => (JSON.parse(Buffer.from(value).toString()) as { n: number }).n)).toEqual([
    1, 2, 3, 2, 1, 2, 3,
  ])
  // its API does not know everything
  expect(await again("--timestamps", "new")).toMatchObject({ status: 69, stdout: "" })
  // nor is it asked where it has another log under that name
  await Bun.write(join(at, "other.conf"), configuration.replace("directory = log", "directory = other"))
  await fillLog(join(at, "other"), "in", records)
  const other = openLog(join(at, "other"))
  expect(await again("-c", "other.conf")).toMatchObject({ status: 69, stdout: "" })
  await other.close()
})

test("a log that a running Hookline writes is refused where its admin API can't be asked, with what can replay to it", async () => {
  const at = folder.make("running")
  const configuration = `[connection:log]
directory = log
[admin]
listen = off
[pipeline:p:WebHookSource]
[pipeline:p:BrokerSink]
topic = in
`
  await using running = await startHookline(configuration, { folder: at })
  expect((await fetch(running.urls["p"]!, { method: "POST", body: "{}" })).status).toBe(200)
  const from = ["replay", "--from", "log/in"]
  const { status, stderr } = await hookline([...from, "--to", "log/again"], { cwd: at })
  expect(status).toBe(69)
  expect(stderr).toContain(
    `connection log: The log in ${join(at, "log")} is being written to by process ${running.pid}`,
  )
  expect(stderr).toContain("the Replay view of its admin page")
  // it can be read
  await using receiver = new Receiver()
  expect((await hookline([...from, "--to", receiver.url], { cwd: at })).status).toBe(0)
  expect(receiver.offsets).toEqual([0])
})

describe("a replay that ended early", () => {
  test("by kill -9 continues where it was: at a URL at most one record comes twice", async () => {
    await using receiver = new Receiver()
    const args = ["--from", "here/in", "--to", receiver.url, "--where", "json:/n=*"]
    const sent = records.flatMap(({ value }, n) => (value.length > 4 ? [n] : []))
    for (const enough of [60, 120]) {
      // those after it wait for an answer
      const never = new Promise<Response>(() => {})
      receiver.answer = () => (receiver.all.length < enough ? new Response() : never)
      await using running = startReplay(...args)
      await receiver.count(enough)
      running.signal("SIGKILL")
      expect(await running.exited).toBe("SIGKILL")
    }
    receiver.answer = () => new Response()
    const { status, stdout, stderr } = await replay(...args)
    expect(status).toBe(0)
    expect(stderr).toMatch(
      /^resuming here-in-to-127\.0\.0\.1-\d+-[0-9a-f]{8} at \d+ of 300; --restart starts over\n$/,
    )
    expect(stdout).toMatch(new RegExp(`^${sent.length} records replayed, `))
    expect(receiver.offsets.filter((offset, at, all) => offset !== all[at - 1])).toEqual(sent)
    expect(receiver.all.length - sent.length).toBeLessThanOrEqual(2)
  })

  test("by an interrupt continues without a record twice", async () => {
    await using receiver = new Receiver()
    const args = ["--from", "here/in", "--to", receiver.url]
    await using running = startReplay(...args, "--rate", "20")
    await receiver.count(20)
    running.signal("SIGINT")
    expect(await running.exited).toBe(130)
    expect(running.output()).toMatch(
      /stopped at \d+ of 300, \d+ records replayed; run the same command to resume/,
    )
    const { status } = await replay(...args)
    expect(status).toBe(0)
    expect(receiver.offsets).toEqual(upTo(COUNT))
    // once done it is forgotten
    expect((await replay(...args)).status).toBe(0)
    expect(receiver.all).toHaveLength(2 * COUNT)
  })

  test("is not continued by another under its name, and --restart drops it", async () => {
    await using receiver = new Receiver()
    const named = ["--to", `${receiver.url}?token=secret`, "--name", "mine"]
    await using running = startReplay("--from", "here/in", ...named, "--rate", "5")
    await receiver.count(5)
    await using second = startReplay("--from", "here/in", ...named)
    expect(await second.exited).toBe(69)
    expect(second.output()).toContain("The position of replay mine is being written to by process")
    running.signal("SIGTERM")
    expect(await running.exited).toBe(143)
    const { status, stderr } = await replay("--from", "here/in@290..", ...named)
    expect(status).toBe(64)
    expect(stderr).toContain(
      `mine is an interrupted replay of other records, from here/in to ${receiver.url}?…; choose`,
    )
    receiver.all.length = 0
    expect((await replay("--from", "here/in@290..", ...named, "--restart")).status).toBe(0)
    expect(receiver.offsets).toEqual(upTo(10, 290))
  })

  test("at a refused record continues with it, or after it with --on-refusal skip", async () => {
    await using receiver = new Receiver(
      ({ offset }) => new Response("no\u001b[2J", { status: offset === 7 ? 422 : 200 }),
    )
    const args = ["--from", "here/in@..10", "--to", receiver.url]
    const stopped = await replay(...args)
    expect(stopped.status).toBe(77)
    expect(stopped.stderr).toContain("stopped at 7 of 10, 7 records replayed; run the same command to resume")
    expect(stopped.stderr).toContain("in[0]@7 was refused: 422: no\\u001b[2J")
    const skipped = await replay(...args, "--on-refusal", "skip")
    expect(skipped.status).toBe(1)
    expect(skipped.stderr).toContain("refused: partition 0, offset 7: 422: no\\u001b[2J")
    expect(skipped.stdout).toMatch(/^9 records replayed, 1 refused, in /)
    expect(receiver.offsets).toEqual([...upTo(8), 7, 8, 9])
  })
})

test("a target that is down is waited for, said once, and nothing is lost", async () => {
  await using receiver = new Receiver()
  await receiver.down()
  await using running = startReplay("--from", "here/in@..20", "--to", receiver.url, "--rate", "20")
  await running.printed(/waiting: connection refused\n/)
  receiver.up()
  expect(await running.exited).toBe(0)
  expect(running.output()).toMatch(/^waiting: connection refused\ncontinuing\n20 records replayed, /)
  expect(receiver.offsets).toEqual(upTo(20))
})

test("records that retention deletes before they are read are counted, and the exit status is 1", async () => {
  const directory = path("trimmed")
  const at = folder.make("trimming")
  await Bun.write(join(at, "pipelines.conf"), `[connection:log]\ndirectory = ${directory}\n`)
  await fillLog(directory, "in", records)
  await using receiver = new Receiver()
  const gate = Promise.withResolvers<void>()
  receiver.answer = async () => {
    await gate.promise
    return new Response()
  }
  await using running = startCommand(["replay", "--from", "log/in", "--to", receiver.url], at)
  await receiver.count(1)
  const writer = openLog(directory, { retention_bytes: 50 })
  while ((await recordsInLog(directory, "in")).length > 10) await Bun.sleep(20)
  await writer.close()
  gate.resolve()
  expect(await running.exited).toBe(1)
  const [, replayed, missed] = /(\d+) records replayed, (\d+) offsets no longer in the log/.exec(
    running.output(),
  )!
  expect(Number(replayed) + Number(missed)).toBe(COUNT)
  expect(Number(missed)).toBeGreaterThan(100)
  expect(receiver.all).toHaveLength(Number(replayed))
})
