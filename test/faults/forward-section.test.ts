import { expect, test } from "bun:test"
import { isFull, report } from "../support/fault-table.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { fillLog } from "../support/embedded-log.ts"
import { Receiver } from "../support/receiver.ts"

const ROUNDS = isFull ? 40 : 5
const EVENTS = 100
const KEYS = 20
const CONCURRENCY = 16
/** Eight for each that may be under way. */
const WINDOW = 8 * CONCURRENCY

test(`[forward:…] with ${CONCURRENCY} in flight, killed ${ROUNDS} times as its target is: per key in order, nothing missing`, async () => {
  using folder = temporaryFolder()
  const accepted: { readonly key: string; readonly offset: number }[] = []
  await using receiver = new Receiver(({ offset, headers }) => {
    if (Math.random() < 0.02) return new Response("", { status: 503 })
    accepted.push({ key: headers.get("hookline-key")!, offset })
    return new Response()
  })
  const configuration = `[connection:log]
directory = log
[forward:app]
from = log/webhooks
url = ${receiver.url}
begin = beginning
concurrency = ${CONCURRENCY}
[pipeline:other:WebHookSource]
[pipeline:other:BrokerSink]
topic = other
`
  const sent = ROUNDS * EVENTS
  const records = Array.from({ length: sent }, (_, n) => ({
    key: Buffer.from(`k${Math.floor(Math.random() * KEYS)}`),
    value: Buffer.from(`${n}`),
  }))
  await fillLog(`${folder.path}/log`, "webhooks", records)
  for (let round = 0; round < ROUNDS; round++) {
    await using service = await startHookline(configuration, { folder: folder.path })
    const more = Math.floor(Math.random() * EVENTS)
    await receiver.count(receiver.all.length + more)
    if (round % 2 === 1) {
      await receiver.down()
      receiver.up()
      await receiver.count(receiver.all.length + 1)
    }
    service.signal("SIGKILL")
    await service.exited
  }
  {
    await using service = await startHookline(configuration, { folder: folder.path })
    await service.logged(({ msg }) => msg.startsWith("forwarding"))
    while (new Set(accepted.map(({ offset }) => offset)).size < sent)
      await receiver.count(receiver.all.length + 1)
  }
  const firsts = new Map<number, string>()
  for (const { key, offset } of accepted) if (!firsts.has(offset)) firsts.set(offset, key)
  const doubled = accepted.length - firsts.size
  report(`[forward:…] with ${CONCURRENCY} in flight, killed ${ROUNDS} times, target failing`, {
    sent,
    acknowledged: sent,
    found: firsts.size,
    lost: sent - firsts.size,
    doubled,
    longestWaitMs: undefined,
  })
  for (const ofKey of Map.groupBy(firsts, ([, key]) => key).values()) {
    const offsets = ofKey.map(([offset]) => offset)
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
  }
  expect(doubled).toBeLessThanOrEqual((ROUNDS + 1) * WINDOW)
}, 240_000)
