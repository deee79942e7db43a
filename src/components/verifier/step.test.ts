import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { componentContext } from "../../../test/support/component-context.ts"
import { eventOf, IN_TIME } from "../../../test/support/event.ts"
import { verifierStep } from "./step.ts"

const NOTIFICATION = readFileSync(join(import.meta.dir, "../../../test/support/amazon/notification.json"))

const stepOf = (mode: string) =>
  verifierStep(
    {
      provider: "aws-sns",
      mode,
      topic_arn: "arn:aws:sns:us-west-2:131990247566:dongie-standard-topic",
      confirm: "false",
    } as Parameters<typeof verifierStep>[0],
    componentContext({ deliveryTimeoutMs: 400 }),
    { fetcher: { fetch: () => new Promise(() => {}), rootCertificates: [] } },
  )

test("a certificate that takes longer than delivery_timeout to fetch gets 503 in time", async () => {
  const event = eventOf(NOTIFICATION)
  const startMs = performance.now()
  expect(await stepOf("enforce")(event, IN_TIME)).toMatchObject({
    status: 503,
    reason: "unverified_keys_unavailable",
  })
  expect(performance.now() - startMs).toBeWithin(390, 700)
})

test("in mode observe such an event passes while there is time to publish it", async () => {
  const event = eventOf(NOTIFICATION)
  const startMs = performance.now()
  expect(await stepOf("observe")(event, IN_TIME)).toBe(event)
  expect(event.request.failedVerification).toBe(true)
  expect(performance.now() - startMs).toBeWithin(190, 390)
})
