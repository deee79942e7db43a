import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { componentContext } from "../../../test/support/component-context.ts"
import { eventOf, IN_TIME } from "../../../test/support/event.ts"
import { VirtualTime } from "../../../test/support/virtual-time.ts"
import { verifierStep } from "./step.ts"

const DELIVERY_TIMEOUT_MS = 400
const NOTIFICATION = readFileSync(join(import.meta.dir, "../../../test/support/amazon/notification.json"))

const stepOf = (mode: string) =>
  verifierStep(
    {
      provider: "aws-sns",
      mode,
      topic_arn: "arn:aws:sns:us-west-2:131990247566:dongie-standard-topic",
      confirm: "false",
    } as Parameters<typeof verifierStep>[0],
    componentContext({ deliveryTimeoutMs: DELIVERY_TIMEOUT_MS }),
    { fetcher: { fetch: () => new Promise(() => {}), rootCertificates: [] } },
  )

/** What becomes of an event whose certificate never comes, and when, in milliseconds after it came. */
async function ended(mode: string) {
  using time = new VirtualTime(0)
  const event = eventOf(NOTIFICATION)
  const result = stepOf(mode)(event, IN_TIME)
  expect(time.next(DELIVERY_TIMEOUT_MS)).toBe(true)
  return { event, atMs: time.nowMs, result: await result }
}

test("a certificate that takes longer than delivery_timeout to fetch gets 503 in time", async () => {
  const { atMs, result } = await ended("enforce")
  expect(result).toMatchObject({ status: 503, reason: "unverified_keys_unavailable" })
  expect(atMs).toBe(DELIVERY_TIMEOUT_MS)
})

test("in mode observe such an event passes while there is time to publish it", async () => {
  const { event, atMs, result } = await ended("observe")
  expect(result).toBe(event)
  expect(event.request.failedVerification).toBe(true)
  expect(atMs).toBe(DELIVERY_TIMEOUT_MS / 2)
})
