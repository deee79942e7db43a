import { describe, expect, spyOn, test } from "bun:test"
import { verifierStep } from "../../src/components/verifier/step.ts"
import { verifier } from "../../src/components/verifier.ts"
import { makeVerifier } from "../../src/verify/presets/providers.ts"
import { someOf } from "../support/cases.ts"
import { componentContext } from "../support/component-context.ts"
import { sharedByTests, temporaryFolder } from "../support/hookline.ts"
import { inCode } from "../support/in-code.ts"
import { BODY, NOW, OUTSIDE, sendersOfTests, URL_SENT_TO, type Sender } from "../support/senders.ts"
import { deliver, startVerified } from "../support/verified.ts"

const SENDERS = sendersOfTests()
const TRIED = someOf(Object.entries(SENDERS), 40)
/** Their certificates are not at Amazon's and PayPal's hosts, and of a fixed time. */
const BY_CERTIFICATE = ["aws-sns", "paypal"]
/** Providers whose usual body is a form. */
const FORMS = ["twilio", "mandrill"]

/** Of unverified requests of an address in a second: less than the default, which costs less to exceed. */
const LIMIT = 20

const folder = temporaryFolder()
const running = sharedByTests(() => {
  const stepOf = (provider: string, pipeline: string) => {
    const { settings } = SENDERS[provider]!
    if (!BY_CERTIFICATE.includes(provider)) return verifier({ provider, ...inCode(settings) })
    const values = { mode: "enforce", provider, ...settings } as Parameters<typeof verifierStep>[0]
    return verifierStep(values, componentContext({ pipeline }), { fetcher: OUTSIDE, now: () => NOW })
  }
  const steps = TRIED.flatMap(([provider]) =>
    // a flood has a pipeline of its own: what is signed there has the same id
    [provider, `${provider}-flooded`].map((pipeline) => [pipeline, stepOf(provider, pipeline)]),
  )
  return startVerified(folder.path, Object.fromEntries(steps), {
    publicUrl: "https://hooks.example.com",
    unverifiedRateLimit: LIMIT,
  })
}, folder)

describe.each(TRIED)("%s", (name, sender: Sender) => {
  const send = async () => {
    const atMs = BY_CERTIFICATE.includes(name) ? NOW : Date.now()
    const sent = await sender.send(sender.body ?? BODY, atMs, URL_SENT_TO)
    return { sent, body: sent.body ?? sender.body ?? BODY }
  }

  test("what it did not sign is answered 401 and not published", async () => {
    const { sent, body } = await send()
    const bytes = Buffer.from(body)
    bytes[20]! ^= 1
    const before = await running.published(name)
    const answer =
      sender.signs === "nothing"
        ? await deliver(running.origin(name), URL_SENT_TO, {}, BODY)
        : await deliver(running.origin(name), URL_SENT_TO, sent, bytes)
    expect(answer.status).toBe(401)
    expect(answer.headers.get("www-authenticate")).toContain('realm="webhooks"')
    expect(await running.published(name)).toEqual(before)
  })

  test("what it signed is answered 200 and published, where it is a JSON object", async () => {
    const { sent, body } = await send()
    const before = await running.published(name)
    const { status } = await deliver(running.origin(name), URL_SENT_TO, sent, body)
    const isForm = FORMS.includes(name)
    expect(status).toBe(isForm ? 400 : 200)
    const expected = isForm ? [] : [expect.stringContaining(body.slice(0, -1))]
    expect(await running.published(name)).toEqual([...before, ...expected])
  })

  test("what it signed is accepted while its address floods the pipeline with what it did not sign", async () => {
    const unsigned = async (): Promise<number> =>
      (await deliver(running.origin(`${name}-flooded`), URL_SENT_TO, {}, BODY)).status
    const signed = async (): Promise<number> => {
      const { sent, body } = await send()
      return (await deliver(running.origin(`${name}-flooded`), URL_SENT_TO, sent, body)).status
    }
    const accepted = FORMS.includes(name) ? 400 : 200
    // a busy machine may serve no more of them than the limit allows
    using _clock = spyOn(performance, "now").mockReturnValue(performance.now())
    const { isQuick } = makeVerifier(name, sender.settings)
    if (!isQuick) expect(await signed()).toBe(accepted)
    const flood = await Promise.all(Array.from({ length: LIMIT + 10 }, unsigned))
    expect(flood.includes(429)).toBe(isQuick)
    expect(await signed()).toBe(accepted)
  })
})

test("by default an address may send 100 unverified requests in a second", async () => {
  using own = temporaryFolder()
  const step = verifier({ provider: "github", ...inCode(SENDERS["github"]!.settings) })
  await using pipeline = await startVerified(own.path, { github: step })
  // a busy machine may serve no more of them than the limit allows
  using _clock = spyOn(performance, "now").mockReturnValue(performance.now())
  const statuses: number[] = []
  for (let sent = 0; sent < 101; sent++)
    statuses.push((await deliver(pipeline.origin("github"), URL_SENT_TO, {}, BODY)).status)
  expect(new Set(statuses.slice(0, 100))).toEqual(new Set([401]))
  expect(statuses[100]).toBe(429)
})
