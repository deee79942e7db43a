import { afterAll, beforeAll, expect, test } from "bun:test"
import { pino } from "pino"
import { steadyMs } from "../../src/clock/clock.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { random, someOf, writeRequest } from "../support/kafka-messages.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { openEmbedded, type EmbeddedBroker } from "../../src/brokers/embedded/broker.ts"
import { KafkaLog } from "../../src/brokers/embedded/kafka-log.ts"
import { Commits } from "../../src/kafka-listener/commits.ts"
import { Groups } from "../../src/kafka-listener/groups/groups.ts"
import { LogView } from "../../src/kafka-listener/log-view.ts"
import { SharedCounters } from "../../src/kafka-listener/shared-counters.ts"
import { ClientAuthentication } from "../../src/kafka-listener/security/authentication.ts"
import { Malformed } from "../../src/kafka-protocol/byte-reader.ts"
import { ByteWriter } from "../../src/kafka-protocol/byte-writer.ts"
import { isIn, rangeOf, type Api } from "../../src/kafka-protocol/fields.ts"
import * as messages from "../../src/kafka-protocol/messages.ts"
import { answer, type Serving } from "../../src/kafka-listener/apis/apis.ts"

const FRAMES = 100_000
const APIS = Object.values(messages) as Api[]

const folder = temporaryFolder()
const closed = AbortSignal.abort()
let broker: EmbeddedBroker
let serving: Serving
const faults: unknown[] = []

beforeAll(async () => {
  broker = openEmbedded(
    { directory: folder.path },
    { log: pino({ enabled: false }), metrics: { batch() {} } },
  )
  const value = Buffer.from("{}")
  for (let n = 0; n < 3; n++)
    await broker.publish({ topic: "webhooks", key: undefined, value }, steadyMs() + PATIENT_MS)
  const groups: Groups = new Groups({
    write: () => queueMicrotask(() => groups.written(true)),
    expired: (ids) => expect(ids).toEqual([]),
  })
  groups.load(
    { groups: [], offsets: [] },
    { clusterId: "log", lastCommittable: () => ({ offset: Infinity, leaderEpoch: 0 }) },
  )
  serving = {
    log: new LogView(() => new KafkaLog(folder.path), new SharedCounters()),
    commits: new Commits(new SharedCounters()),
    groups,
    retention: { ms: 1, bytes: 1 },
    advertised: { host: "127.0.0.1", port: 9092 },
    authentication: new ClientAuthentication(undefined, false),
    clientHost: "/127.0.0.1",
    failed: (error) => faults.push(error),
    // the client is gone: no fetch waits
    signal: closed,
  }
  serving.log.open()
})
afterAll(async () => {
  serving.log.close()
  await broker.close()
  folder[Symbol.dispose]()
})

/** A request with values of any kind, some of which mean something here. */
function someRequest(correlationId: number): Buffer {
  const api = APIS[random(APIS.length)]!
  const [first, last] = rangeOf(api.versions)
  const version = first + random(last - first + 1)
  const to = new ByteWriter()
  to.int16(api.key)
  to.int16(version)
  to.int32(correlationId)
  to.int16(-1)
  if (isIn(api.flexible, version)) to.varint(0)
  const known = { groupId: "g", memberId: "", topic: "webhooks", name: "webhooks", protocolType: "consumer" }
  const given = Object.entries(known).filter(([name]) => name in api.request && random(2) === 0)
  writeRequest(api, version, { ...someOf(api.request, version), ...Object.fromEntries(given) }, to)
  return Buffer.from(to.written())
}

function mutated(frame: Buffer): Buffer {
  const bytes = random(10) === 0 ? frame.subarray(0, random(frame.length + 1)) : frame
  // the first eight bytes say what it is
  for (let times = random(4); times > 0 && bytes.length > 8; times--)
    bytes[8 + random(bytes.length - 8)] = random(256)
  if (random(100) === 0 && bytes.length > 4) bytes[random(4)] = random(256)
  return bytes
}

test(`${FRAMES} mutated requests are answered, or have no header`, async () => {
  let answers = 0
  let malformed = 0
  const answered = async (frame: Buffer, id: number): Promise<void> => {
    try {
      const response = Buffer.concat(await answer(frame, serving))
      answers++
      if (response.readInt32BE(0) !== response.length - 4 || response.readInt32BE(4) !== id)
        faults.push(frame)
    } catch (error) {
      malformed++
      if (!(error instanceof Malformed)) faults.push(error)
    }
  }
  for (let n = 0; n < FRAMES; n++) {
    const frame = mutated(someRequest(n))
    // a join may wait for others
    void answered(frame, n)
    if (n % 1000 === 0) await Bun.sleep(0)
  }
  await Bun.sleep(0)
  expect(faults).toEqual([])
  expect(answers).toBeGreaterThan(FRAMES * 0.8)
  expect(malformed).toBeLessThan(FRAMES * 0.05)
})
