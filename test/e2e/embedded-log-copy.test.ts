import { expect, test } from "bun:test"
import { cpSync, rmSync } from "node:fs"
import { join } from "node:path"
import { ByteReader } from "../../src/kafka-protocol/byte-reader.ts"
import { ByteWriter } from "../../src/kafka-protocol/byte-writer.ts"
import { ERROR } from "../../src/kafka-protocol/error-codes.ts"
import type { Api } from "../../src/kafka-protocol/fields.ts"
import { Fetch, OffsetForLeaderEpoch } from "../../src/kafka-protocol/messages.ts"
import { untilEpochsArePast } from "../support/embedded-log.ts"
import { folderOfTests, type Started } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import {
  joinWithKcat,
  kafkaAddressOf,
  RawKafkaClient,
  readableLog,
  type RunningConsumer,
} from "../support/kafka-clients.ts"
import { readResponse, writeRequest } from "../support/kafka-messages.ts"
import { hasKcat } from "../support/kcat.ts"
import { freePort } from "../support/ports.ts"

const folder = folderOfTests()

const configuration = (listen: string): string => readableLog(`kafka_listen = ${listen}`)

async function post(running: Started, name: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, n) => `${name}${n}.`)
  for (const id of ids) {
    const { status } = await fetch(running.urls["webhooks"]!, {
      method: "POST",
      body: JSON.stringify({ id }),
    })
    expect(status).toBe(200)
  }
  return ids
}

const read = (consumer: RunningConsumer, id: string): Promise<string> =>
  consumer.said(new RegExp(`^key ${id.replace(".", "\\.")}$`, "m"))

const keysOf = (consumer: RunningConsumer): string[] =>
  [...consumer.output().matchAll(/^key (.*)$/gm)].map(([, id]) => id!)

async function ask(client: RawKafkaClient, api: Api, version: number, request: object): Promise<string> {
  const body = new ByteWriter()
  writeRequest(api, version, request as never, body)
  client.request({ key: api.key, version, flexible: true }, 1, body.written())
  const response = await client.response()
  return JSON.stringify(readResponse(api, version, new ByteReader(response!.subarray(5))))
}

/** The leader epoch of a record, as consumers get it. */
async function epochAt(client: RawKafkaClient, fetchOffset: number): Promise<number> {
  // one record
  const partition = { partition: 0, currentLeaderEpoch: -1, fetchOffset, partitionMaxBytes: 1 }
  const topics = [{ topic: "webhooks", partitions: [partition] }]
  const { bytes } = /"records":\{"type":"Buffer","data":\[(?<bytes>[^\]]*)/.exec(
    await ask(client, Fetch, 12, { topics, maxBytes: 1e6 }),
  )!.groups!
  return Buffer.from(bytes!.split(",").map(Number)).readInt32BE(12)
}

/** A consumer that runs all the time, as the protocol has it: its epoch is fenced, and ended where the copy did (KIP-320). */
async function seesNewEpoch(address: string): Promise<void> {
  await using client = await RawKafkaClient.connect(address)
  const first = await epochAt(client, 0)
  const partition = { partition: 0, currentLeaderEpoch: first, fetchOffset: 100, partitionMaxBytes: 1e6 }
  const topics = [{ topic: "webhooks", partitions: [partition] }]
  const fetched = await ask(client, Fetch, 12, { topics, maxBytes: 1e6 })
  expect(fetched).toContain(`"errorCode":${ERROR.FENCED_LEADER_EPOCH}`)
  const asked = [
    { topic: "webhooks", partitions: [{ partition: 0, currentLeaderEpoch: -1, leaderEpoch: first }] },
  ]
  const epoch = await ask(client, OffsetForLeaderEpoch, 4, { topics: asked })
  expect(epoch).toContain(`"leaderEpoch":${first},"endOffset":60`)
  expect(await epochAt(client, 60)).toBeGreaterThan(first)
}

for (const whenCopied of [
  "at once",
  "once the copy has grown past it, the listener being off meanwhile",
] as const)
  test.skipIf(!hasKcat())(
    `an earlier copy of the log: a group that had read further gets every later record, asked ${whenCopied}`,
    async () => {
      const own = folder.make(whenCopied.slice(0, 4))
      const address = `127.0.0.1:${await freePort()}`
      const start = (listen = address) => startInProcess(configuration(listen), { folder: own })
      const file = join(own, "log/log.sqlite")
      const before: string[] = []
      {
        await using first = await start()
        before.push(...(await post(first, "a", 60)))
      }
      cpSync(file, `${file}.copy`)
      {
        await using second = await start()
        await kafkaAddressOf(second)
        before.push(...(await post(second, "b", 40)))
        await using consumer = joinWithKcat(address, "billing", "webhooks")
        await read(consumer, before.at(-1)!)
        await consumer.end("SIGTERM")
        expect(keysOf(consumer)).toEqual(before)
      }
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true })
      cpSync(`${file}.copy`, file)
      await untilEpochsArePast()
      const later: string[] = []
      if (whenCopied !== "at once") {
        await using third = await start("off")
        later.push(...(await post(third, "c", 80)))
      }
      await using last = await start()
      await kafkaAddressOf(last)
      const { offsets, count } = await last.logged(({ msg }) =>
        msg.startsWith("consumer groups have committed offsets beyond the end of the log"),
      )
      expect({ offsets, count }).toEqual({
        offsets: [{ group: "billing", topic: "webhooks", partition: 0, from: 100, to: 60 }],
        count: 1,
      })
      later.push(...(await post(last, "d", 10)))
      await seesNewEpoch(address)
      {
        await using consumer = joinWithKcat(address, "billing", "webhooks")
        await read(consumer, later.at(-1)!)
        await consumer.end("SIGTERM")
        expect(keysOf(consumer)).toEqual(later)
      }
      // once only
      await last.stop()
      await using again = await start()
      await kafkaAddressOf(again)
      const [next] = await post(again, "e", 1)
      await using consumer = joinWithKcat(address, "billing", "webhooks")
      await read(consumer, next!)
      expect(keysOf(consumer)).toEqual([next!])
      expect(again.log.filter(({ msg }) => msg.startsWith("consumer groups have"))).toEqual([])
    },
  )
