import { expect, test } from "bun:test"
import { recordsInLog } from "../support/embedded-log.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"
import { STRIPE_KEY, STRIPE_SECRET, STRIPE_TYPES, StripeAccount } from "../support/stripe-account.ts"

/** More than a page. */
const MISSED = 30

/** Ids in a topic, and whether the record is marked as injected, in the order of the log. */
async function topic(directory: string): Promise<(readonly [id: string, isInjected: boolean])[]> {
  const records = await recordsInLog(directory, "stripe")
  return records.map(({ value, headers }) => [
    (JSON.parse(Buffer.from(value).toString()) as { id: string }).id,
    headers.some(([name]) => name === "hookline-injected"),
  ])
}

test("an event that Stripe could not deliver is published once as it is listed, marked as injected, although Stripe delivers it later too", async () => {
  using folder = temporaryFolder()
  const port = await freePort()
  await using account = new StripeAccount(`http://127.0.0.1:${port}/stripe`, 600)
  const missed = Array.from({ length: MISSED }, (_, at) => `evt_missed_${at}`)
  for (const id of missed) expect(await account.send(id)).toBe(0)
  await account.send("evt_not_for_us", "payout.paid")
  await using service = await startHookline(
    `
[connection:log]
directory = log
[pipeline:stripe:WebHookSource]
port = ${port}
path = /stripe
[pipeline:stripe:Verifier]
provider = stripe
secret = ${STRIPE_SECRET}
[pipeline:stripe:Deduplicator]
[pipeline:stripe:BrokerSink]
topic = stripe
[reconcile:stripe]
pipeline = stripe
credentials = ${STRIPE_KEY}
api = ${account.api}
endpoint = ${STRIPE_TYPES.join(", ")}
inject = true
every = 1s
`,
    { folder: folder.path },
  )
  await service.logged(({ msg, recovered }) => msg === "reconciled" && recovered === MISSED)
  expect(service.log.find(({ msg }) => msg === "published missing events")).toMatchObject({ events: MISSED })
  expect(await account.send("evt_came")).toBe(200)
  // Stripe's own retries
  for (const id of missed) expect(await account.deliver(id)).toBe(200)
  await service.stop()
  const published = await topic(`${folder.path}/log`)
  expect(published.toSorted()).toEqual(
    [["evt_came", false] as const, ...missed.map((id) => [id, true] as const)].toSorted(),
  )
})
