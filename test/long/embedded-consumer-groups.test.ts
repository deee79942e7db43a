import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import { randomUUID } from "node:crypto"
import { Consumer } from "@platformatic/kafka"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { joinWithKcat, kafkaAddressOf, readableLog } from "../support/kafka-clients.ts"
import { hasKcat } from "../support/kcat.ts"
import { freePort } from "../support/ports.ts"

setDefaultTimeout(40_000)

const folder = temporaryFolder()
let running: RunningHookline
let address: string
let group: string
let posted = 0

async function start(): Promise<void> {
  running = await startHookline(readableLog(`kafka_listen = ${address}`), { folder: folder.path })
  expect(await kafkaAddressOf(running)).toBe(address)
}

/** Posts an event; its key is the answer. */
async function post(): Promise<string> {
  const id = `n${++posted}.`
  const { status } = await fetch(running.urls["webhooks"]!, { method: "POST", body: JSON.stringify({ id }) })
  expect(status).toBe(200)
  return id
}

beforeAll(async () => {
  address = `127.0.0.1:${await freePort()}`
  await start()
})
beforeEach(() => {
  group = `group-${randomUUID().slice(0, 8)}`
})
afterAll(async () => {
  await running.stop()
  folder[Symbol.dispose]()
})

/** As kcat says it of the eager and of the cooperative protocol. */
const ASSIGNED = /(?:assigned|assignment of 1 .*): webhooks \[0\]/
const key = (id: string): RegExp => new RegExp(`key ${id.replace(".", "\\.")}\n`)
const count = (output: string, id: string): number => output.split(`key ${id}\n`).length - 1

describe.skipIf(!hasKcat())("members of kcat", () => {
  test.each([["range"], ["cooperative-sticky"]])(
    "share a topic by %s: one that is killed is replaced, and its place kept",
    async (strategy) => {
      const settings = {
        "session.timeout.ms": "1500",
        "partition.assignment.strategy": strategy,
        "auto.commit.interval.ms": "100",
      }
      await using first = joinWithKcat(address, group, "webhooks", settings)
      await first.said(ASSIGNED)
      await using second = joinWithKcat(address, group, "webhooks", settings)
      await second.said(/Group \S+ rebalanced/)
      const early = await post()
      const [owner, other] = await Promise.race([
        first.said(key(early)).then(() => [first, second] as const),
        second.said(key(early)).then(() => [second, first] as const),
      ])
      expect(count(other.output(), early)).toBe(0)
      await committed(group)
      await owner.end("SIGKILL")
      await other.said(ASSIGNED)
      const late = await post()
      await other.said(key(late))
      // committed before the owner was killed
      expect(count(other.output(), early)).toBe(0)
    },
  )

  test("that leave hand over at once, with their offsets", async () => {
    const id = await post()
    await using first = joinWithKcat(address, group, "webhooks", { "session.timeout.ms": "40000" })
    await first.said(key(id))
    await first.end("SIGTERM")
    await using second = joinWithKcat(address, group, "webhooks")
    await second.said(ASSIGNED)
    const next = await post()
    await second.said(key(next))
    expect(count(second.output(), id)).toBe(0)
  })

  test("have their places after a restart, of the group and in the log", async () => {
    const settings = {
      "session.timeout.ms": "40000",
      "group.instance.id": "one",
      "auto.commit.interval.ms": "100",
    }
    await using member = joinWithKcat(address, group, "webhooks", settings)
    const before = await post()
    await member.said(key(before))
    await committed(group)
    await member.end("SIGKILL")
    await running.stop()
    await start()
    await using again = joinWithKcat(address, group, "webhooks", settings)
    const after = await post()
    await again.said(key(after))
    expect(count(again.output(), before)).toBe(0)
  })

  test("with a static id come again without a rebalance", async () => {
    const settings = { "session.timeout.ms": "20000", "group.instance.id": "one" }
    await using first = joinWithKcat(address, group, "webhooks", settings)
    await first.said(ASSIGNED)
    await first.end("SIGKILL")
    await using again = joinWithKcat(address, group, "webhooks", settings)
    await again.said(ASSIGNED)
  })
})

/** Waits until a group has committed the end of the topic. */
async function committed(group: string): Promise<void> {
  const admin = new Consumer({ groupId: group, clientId: "test", bootstrapBrokers: [address] })
  const topics = [{ topic: "webhooks", partitions: [0] }]
  try {
    for (;;) {
      const offsets = await admin.listCommittedOffsets({ topics })
      if (offsets.get("webhooks")?.[0] === BigInt(posted)) return
      await Bun.sleep(20)
    }
  } finally {
    await admin.close(true)
  }
}

test("a consumer of the client library for Node reads in a group, and continues where it committed", async () => {
  const open = () => new Consumer({ groupId: group, clientId: "test", bootstrapBrokers: [address] })
  const read = async (until: string): Promise<string[]> => {
    const consumer = open()
    const stream = await consumer.consume({
      topics: ["webhooks"],
      mode: "committed",
      fallbackMode: "earliest",
      autocommit: false,
      sessionTimeout: 10_000,
    })
    const keys: string[] = []
    for await (const message of stream) {
      keys.push(message.key.toString())
      await message.commit()
      if (keys.at(-1) === until) break
    }
    await consumer.close(true)
    return keys
  }
  const first = await post()
  expect((await read(first)).at(-1)).toBe(first)
  const [second, third] = [await post(), await post()]
  expect(await read(third)).toEqual([second, third])
})
