import { beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { parseTopicFlag, parseTopicRange, replayPlaces } from "../../src/commands/topic-range.ts"
import { Application } from "../../src/runtime/application.ts"
import { fillLog } from "../support/embedded-log.ts"
import { folderOfTests, hookline } from "../support/hookline.ts"
import { Receiver } from "../support/receiver.ts"
import { startCommand } from "../support/running-command.ts"

// A topic is named alike for tail, replay and forward: CONNECTION/TOPIC, or TOPIC where its connection is clear.

const folder = folderOfTests()
const path = (name: string): string => join(folder.path, name)
const OTHER = `[connection:other]
directory = other
[pipeline:a:WebHookSource]
[pipeline:a:BrokerSink]
connection = log
topic = payments
`
const BOTH = ["-c", "both.conf"]

beforeAll(async () => {
  const configuration = "[connection:log]\ndirectory = log\n"
  await Bun.write(path("pipelines.conf"), configuration)
  await Bun.write(path("both.conf"), configuration + OTHER)
  const records = [1, 2].map((n) => ({
    key: undefined,
    value: Buffer.from(`{"n":${n}}`),
    headers: [],
    timestampMs: n,
  }))
  await fillLog(path("log"), "payments", records)
})
const run = (...args: readonly string[]) => hookline(args, { cwd: folder.path })

test.each([
  ["of the only connection", []],
  ["that a pipeline publishes to one of several connections", BOTH],
])("replay and forward find a topic %s", async (_, config) => {
  const counted = await run("replay", "--from", "payments@1..", "--to", "log/copy", "--dry-run", ...config)
  expect(counted).toEqual({ status: 0, stdout: "1 record would be replayed\n", stderr: "" })
  await using receiver = new Receiver()
  const flags = ["--begin", "beginning", "--name", `n${config.length}`]
  await using command = startCommand(["forward", "payments", receiver.url, ...flags, ...config], folder.path)
  await command.printed(/payments\[0\]@1 200 in /)
  command.signal("SIGINT")
  expect(await command.exited).toBe(0)
})

test("a replay is the same one by either name of its topics, so that an interrupted one is resumed", () => {
  const app = Application.fromFile(path("pipelines.conf"))
  const placesOf = (from: string, to: string) =>
    replayPlaces(app, { from: parseTopicRange(from), to: parseTopicFlag(to) })
  expect(placesOf("payments@1..", "copy")).toEqual(placesOf("log/payments@1..", "log/copy"))
})

test.each([
  ["tail", ["other-topic"]],
  ["replay", ["--from", "other-topic", "--to", "log/copy"]],
  ["replay", ["--from", "payments", "--to", "other-topic"]],
  ["forward", ["other-topic", "http://127.0.0.1:1/"]],
])("%s names the places that %j can be, where it is not clear", async (command, args) => {
  const { status, stderr } = await run(command, ...args, ...BOTH)
  expect([status, stderr]).toEqual([
    64,
    expect.stringContaining("name the topic with its own: log/other-topic or other/other-topic"),
  ])
})
