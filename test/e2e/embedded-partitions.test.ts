import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import type { StoredRecord } from "../../src/brokers/broker.ts"
import { partitionOf } from "../../src/brokers/murmur2.ts"
import { openLog, recordsInLog } from "../support/embedded-log.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { hookline, reload, temporaryFolder, type Started } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import { joinWithKcat, kafkaAddressOf, kcat } from "../support/kafka-clients.ts"
import { hasKcat } from "../support/kcat.ts"
import { startCommand } from "../support/running-command.ts"
import { HANG_MS } from "../support/hang.ts"

const configuration = (partitions: number): string => `[connection:log]
directory = log
partitions = ${partitions}
kafka_listen = 127.0.0.1:0
[pipeline:webhooks:WebHookSource]
path = /webhooks
[pipeline:webhooks:Deduplicator]
key = json:/id
[pipeline:webhooks:Router]
by = json:/type
audit = audit
[pipeline:webhooks:BrokerSink]
topic = webhooks
connection = log
key = json:/customer
`
let posted = 0

/** Posts an event of a customer, which is its key. */
async function post({ urls }: Started, customer: string, more: object = {}): Promise<void> {
  const body = JSON.stringify({ id: `n${++posted}`, customer, type: "order", ...more })
  const { status } = await fetch(urls["webhooks"]!, { method: "POST", body })
  expect(status).toBe(200)
}

const CUSTOMERS = Array.from({ length: 20 }, (_, n) => `c${n}.`)
const keysIn = (output: string): string[] => [...output.matchAll(/^key (\S+)$/gm)].map(([, key]) => key!)
const customersOf = (partition: number, count: number): string[] =>
  CUSTOMERS.filter((one) => partitionOf(Buffer.from(one), count) === partition).toSorted()

describe.skipIf(!hasKcat())("a group of two kcat", () => {
  test("shares the partitions of a topic, and those that a reload adds", async () => {
    using folder = temporaryFolder()
    await using running = await startInProcess(configuration(2), { folder: folder.path })
    const address = await kafkaAddressOf(running)
    await post(running, "c0.")
    const { stdout } = await kcat(address, "-L")
    expect(stdout).toContain('topic "webhooks" with 2 partitions:')
    const settings = { "topic.metadata.refresh.interval.ms": "200", "auto.offset.reset": "latest" }
    await using first = joinWithKcat(address, "both", "webhooks", settings)
    await first.said(/assigned: webhooks \[0\], webhooks \[1\]/)
    await using second = joinWithKcat(address, "both", "webhooks", settings)
    await second.said(/assigned: webhooks \[\d\]\n/)
    await first.said(/revoked[\s\S]*assigned: webhooks \[\d\]\n/)
    await Promise.all([first.said(/Reached end/), second.said(/Reached end/)])

    const before = [first, second].map((member) => keysIn(member.output()).length)
    await Promise.all(CUSTOMERS.map((customer) => post(running, customer)))
    const parts = async (): Promise<string[][]> => {
      for (;;) {
        const read = [first, second].map((member, at) => keysIn(member.output()).slice(before[at]))
        if (read.flat().length >= CUSTOMERS.length) return read.map((keys) => keys.toSorted())
        await Bun.sleep(10)
      }
    }
    expect((await parts()).toSorted()).toEqual([customersOf(0, 2), customersOf(1, 2)].toSorted())

    expect(await reload(running, folder.path, configuration(3))).toBe("reloaded")
    await Promise.race([first.said(/webhooks \[2\]/), second.said(/webhooks \[2\]/)])
  })
})

test("fewer partitions than the log has are refused by check, at a reload and at a start", async () => {
  using folder = temporaryFolder()
  await using running = await startInProcess(configuration(2), { folder: folder.path })
  await post(running, "c0.")
  expect(await reload(running, folder.path, configuration(3))).toBe("reloaded")
  await post(running, "c0.")
  const problem =
    /pipelines\.conf:3: \[connection:log\] partitions: the log in .*log has topics of 3 partitions, which can't become 2; set it to 3 or more/
  expect(await reload(running, folder.path, configuration(2))).toBe("not")
  expect(running.output()).toMatch(problem)
  const checked = await hookline(["check"], { cwd: folder.path })
  expect(checked.status).toBe(78)
  expect(checked.stdout + checked.stderr).toMatch(problem)
  await running.stop()
  const ran = await hookline(["run"], { cwd: folder.path })
  expect(ran.status).toBe(78)
  expect(ran.stdout + ran.stderr).toMatch(problem)
})

test("topics of a Router have them too, and duplicates are dropped in every partition", async () => {
  using folder = temporaryFolder()
  const start = (): Promise<Started> => startInProcess(configuration(3), { folder: folder.path })
  await using first = await start()
  for (let n = 0; n < 2; n++)
    for (const customer of CUSTOMERS) await post(first, customer, { id: `of ${customer}`, type: "audit" })
  await first.stop()
  const records = await recordsInLog(join(folder.path, "log"), "audit")
  expect(records).toHaveLength(CUSTOMERS.length)
  for (const { key, partition } of records) expect(partition).toBe(partitionOf(key!, 3))
  await using second = await start()
  await post(second, "c0.", { id: "of c0.", type: "audit" })
  expect(await recordsInLog(join(folder.path, "log"), "audit")).toHaveLength(CUSTOMERS.length)
})

test("topics, tail and replay go by partition", async () => {
  using own = temporaryFolder()
  await Bun.write(
    join(own.path, "pipelines.conf"),
    ["from", "to"].map((id) => `[connection:${id}]\ndirectory = ${id}\npartitions = 3\n`).join(""),
  )
  const log = openLog(join(own.path, "from"), { partitions: 3 })
  for (let n = 0; n < 50; n++) {
    const key = n % 2 === 0 ? undefined : Buffer.from(`k${n}`)
    await log.publish({ topic: "in", key, value: Buffer.from(`{"n":${n}}`) }, steadyMs() + HANG_MS)
  }
  await log.close()
  const run = async (...args: string[]): Promise<string> => {
    const { status, stdout, stderr } = await hookline(args, { cwd: own.path })
    expect([status, stderr]).toEqual([0, ""])
    return stdout
  }
  const source = await recordsInLog(join(own.path, "from"), "in")
  expect(await run("topics", "--connection", "from")).toMatch(/in\s+3\s+50/)
  const values = (await run("tail", "in", "--connection", "from", "--offset", "2:0", "-o", "value"))
    .trim()
    .split("\n")
  expect(values).toHaveLength(source.filter(({ partition }) => partition === 2).length)
  expect(await run("topics")).toMatch(/^TOPIC .*\nfrom\/in +3 +50 +\d+\n$/)
  await run("replay", "--from", "from/in", "--to", "to/in")
  const places = ({ partition, offset, value }: StoredRecord) => [partition, offset, Buffer.from(value)]
  expect((await recordsInLog(join(own.path, "to"), "in")).map(places)).toEqual(source.map(places))
  expect(await run("topics")).toMatch(/\nfrom\/in +3 +50 +\d+\nto\/in +3 +50 +\d+\n$/)
  const both = await run("tail", "from/in", "to/in", "from/in", "-o", "value")
  expect(both.trim().split("\n")).toHaveLength(100)
})

test("forward and the admin API have the records of every partition", async () => {
  using own = temporaryFolder()
  const bodies = new Set<string>()
  await using target = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      bodies.add(await request.text())
      return new Response()
    },
  })
  const text = configuration(4).replace("listen = off", "listen = 127.0.0.1:0")
  await using service = await startInProcess(text, { folder: own.path })
  const records = new URL("api/records?connection=log&topic=webhooks", service.adminUrl)
  for (const [n, customer] of CUSTOMERS.entries()) {
    const body = JSON.stringify({ id: `m${n}`, customer, type: "order" })
    expect((await fetch(service.urls["webhooks"]!, { method: "POST", body })).status).toBe(200)
  }
  const listed: { readonly partition: number; readonly offset: number }[] = []
  for (let older: string | undefined = ""; older !== undefined;) {
    const page = await fetch(`${records.href}&limit=7${older === "" ? "" : `&before=${older}`}`)
    const { records: some, older: next } = (await page.json()) as { records: typeof listed; older?: string }
    listed.push(...some)
    older = next ?? undefined
  }
  const counts = [0, 1, 2, 3].map((number) => customersOf(number, 4).length)
  const countOf = (of: number): number => listed.filter(({ partition }) => partition === of).length
  expect([0, 1, 2, 3].map(countOf)).toEqual(counts)
  const third = await fetch(`${records.href}&partition=3`)
  expect(((await third.json()) as { records: object[] }).records).toHaveLength(counts[3]!)

  const args = ["forward", "log/webhooks", target.url.href, "--begin", "beginning"]
  await using forward = startCommand(args, own.path)
  while (bodies.size < CUSTOMERS.length) await Bun.sleep(20)
  expect(forward.output()).not.toContain("failed")
  expect([...bodies].map((body) => (JSON.parse(body) as { customer: string }).customer).toSorted()).toEqual(
    CUSTOMERS.toSorted(),
  )
})
