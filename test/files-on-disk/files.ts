import { expect } from "bun:test"
import { join } from "node:path"
import { endingWithThisProcess, runToEnd } from "../support/child.ts"
import { startHookline, type RunningHookline } from "../support/hookline.ts"
import { joinWithKcat } from "../support/kafka-clients.ts"
import { freePort } from "../support/ports.ts"
import { startCommand } from "../support/running-command.ts"

/*
 * Every kind of file that Hookline writes: an embedded log of one partition and one of three, the dedupe keys and consumer
 * groups beside the first, a spool, and the position of a forward. `program` is the Hookline that is run, as
 * `[bun, "…/src/cli.ts"]`.
 */
export type Program = readonly string[]

/** How many events each pipeline was sent; the first of them were read by the consumer group, and forwarded. */
const EVENTS = 30
const READ = 10
/** Has the records of a topic as the Hookline that wrote them prints them. */
const printedFile = ({ folder }: Files, topic: string): string => join(folder, `${topic}.jsonl`)
const TOPICS = { webhooks: "log", wide: "wide" }

const configuration = (listen: string): string => `[connection:log]
directory = log
kafka_listen = ${listen}
[connection:wide]
directory = wide
partitions = 3
[connection:kafka]
bootstrap_servers = 127.0.0.1:9
spool = spool.sqlite
[admin]
listen = off
[defaults:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:webhooks:WebHookSource]
path = /webhooks
[pipeline:webhooks:Deduplicator]
key = json:/id
window = 400d
[pipeline:webhooks:BrokerSink]
connection = log
topic = webhooks
key = json:/id
[pipeline:wide:WebHookSource]
path = /wide
[pipeline:wide:BrokerSink]
connection = wide
topic = wide
key = json:/id
[pipeline:spooled:WebHookSource]
path = /spooled
[pipeline:spooled:BrokerSink]
connection = kafka
topic = spooled
`

export interface Files {
  readonly program: Program
  readonly folder: string
}

async function start({ program, folder }: Files): Promise<{ running: RunningHookline; listen: string }> {
  const listen = `127.0.0.1:${await freePort()}`
  return { running: await startHookline(configuration(listen), { folder, program }), listen }
}

async function post({ urls }: RunningHookline, pipeline: string, from: number, to: number): Promise<void> {
  for (let id = from; id < to; id++) {
    const body = JSON.stringify({ id: `${id}`, text: "é".repeat(id) })
    expect((await fetch(urls[pipeline]!, { method: "POST", body })).status).toBe(200)
  }
}

const idsBetween = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, n) => `${from + n}`)

/** Reads the first log as the group until it has read that many, and commits. */
async function consume(listen: string, count: number): Promise<string[]> {
  await using consumer = joinWithKcat(listen, "readers", "webhooks")
  await consumer.said(new RegExp(`(^key .*\n[^]*){${count}}`, "m"))
  await consumer.end("SIGTERM")
  return [...consumer.output().matchAll(/^key (.*)$/gm)].map(([, key]) => key!)
}

/** Forwards records of the first log until that many have been posted. */
async function forward({ program, folder }: Files, count: number): Promise<string[]> {
  const ids: string[] = []
  const complete = Promise.withResolvers<void>()
  await using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      ids.push(((await request.json()) as { id: string }).id)
      if (ids.length === count) complete.resolve()
      return new Response()
    },
  })
  await using command = startCommand(
    ["forward", "log/webhooks", `${server.url}`, "--begin", "beginning"],
    folder,
    { program },
  )
  await Promise.race([complete.promise, command.exited])
  command.signal("SIGINT")
  expect([await command.exited, command.output()]).toEqual([0, expect.any(String)])
  return ids
}

async function run({ program, folder }: Files, ...args: readonly string[]): Promise<string> {
  const ended = await runToEnd(endingWithThisProcess(...program, ...args), { cwd: folder })
  expect(ended).toMatchObject({ status: 0 })
  return ended.stdout
}

const print = (files: Files, topic: keyof typeof TOPICS): Promise<string> =>
  run(files, "tail", topic, "--connection", TOPICS[topic], "-o", "json")

/** How many records each spool has. */
async function spooledRecords(files: Files): Promise<number[]> {
  const spools = JSON.parse(await run(files, "spool", "status", "--json")) as { records: number }[]
  return spools.map(({ records }) => records)
}

/** Writes the files, and ends as `signal` does: SIGKILL leaves the WALs beside them. */
export async function writeFiles(files: Files, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const { running, listen } = await start(files)
  await post(running, "webhooks", 0, READ)
  expect(await consume(listen, READ)).toEqual(idsBetween(0, READ))
  expect(await forward(files, READ)).toEqual(idsBetween(0, READ))
  await post(running, "webhooks", READ, EVENTS)
  await post(running, "wide", 0, EVENTS)
  await post(running, "spooled", 0, EVENTS)
  for (const topic of ["webhooks", "wide"] as const)
    await Bun.write(printedFile(files, topic), await print(files, topic))
  running.signal(signal)
  await running.exited
}

/** Checks that the files are read, opened and continued; `withGroups`: also by the consumer group, with kcat. */
export async function checkFiles(files: Files, { withGroups }: { withGroups: boolean }): Promise<void> {
  const printed = {
    webhooks: await Bun.file(printedFile(files, "webhooks")).text(),
    wide: await Bun.file(printedFile(files, "wide")).text(),
  }
  await Bun.write(join(files.folder, "pipelines.conf"), configuration("off"))
  expect(await print(files, "webhooks")).toBe(printed.webhooks)
  expect(await print(files, "wide")).toBe(printed.wide)
  expect(await spooledRecords(files)).toEqual([EVENTS])

  const { running, listen } = await start(files)
  await post(running, "webhooks", areRemembered(printed.webhooks) ? 0 : EVENTS, EVENTS + 1)
  await post(running, "wide", 0, EVENTS)
  await post(running, "spooled", 0, EVENTS)
  if (withGroups) expect(await consume(listen, EVENTS + 1 - READ)).toEqual(idsBetween(READ, EVENTS + 1))
  expect(await forward(files, EVENTS + 1 - READ)).toEqual(idsBetween(READ, EVENTS + 1))
  expect(await running.stop()).toBe(0)

  const webhooks = await print(files, "webhooks")
  expect(webhooks.slice(0, printed.webhooks.length)).toBe(printed.webhooks)
  expect(placesIn(webhooks.slice(printed.webhooks.length))).toEqual([`${EVENTS} 0 ${EVENTS}`])
  // every key stays in its partition, so each partition now has its records twice
  const before = placesIn(printed.wide)
  const perPartition = Map.groupBy(before, (place) => place.split(" ")[1])
  const again = before.map((place) => {
    const [key, partition, offset] = place.split(" ")
    return `${key} ${partition} ${Number(offset) + perPartition.get(partition)!.length}`
  })
  expect(placesIn(await print(files, "wide")).toSorted()).toEqual([...before, ...again].toSorted())
  expect(await spooledRecords(files)).toEqual([2 * EVENTS])
  for (const connection of ["log", "wide"])
    await run(files, "log", "check", "--connection", connection, "--json")
}

/** Whether the Deduplicator's window, the longest that can be set, has not passed since the files were written. */
const areRemembered = (printed: string): boolean =>
  Date.now() -
    Date.parse((JSON.parse(printed.slice(0, printed.indexOf("\n"))) as { timestamp: string }).timestamp) <
  399 * 86_400_000

/** Key, partition and offset of each record. */
function placesIn(printed: string): string[] {
  const lines = printed.trimEnd().split("\n")
  return lines.map((line) => {
    const { key, partition, offset } = JSON.parse(line) as { key: string; partition: number; offset: number }
    return `${key} ${partition} ${offset}`
  })
}
