import { expect, test } from "bun:test"
import { join } from "node:path"
import { isForgeable, placesOf } from "../../src/verify/presets/event-locations.ts"
import { PRESETS } from "../../src/verify/presets/presets.ts"
import { findFamily, makeSigner } from "../../src/verify/presets/providers.ts"
import { sampleRequest, SAMPLES, type SampleEvent } from "../../src/verify/samples/samples.ts"
import { sharedByTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { valuesInLog } from "../support/log-values.ts"
import { sendersOfTests, signingSettings, verifierSection } from "../support/senders.ts"

const SENDERS = sendersOfTests()

const idOf = (provider: string): string => placesOf(PRESETS[provider]!.event ?? {}, "id")[0]!

/** Every preset that knows an id and can be signed for. */
const PROVIDERS = Object.keys(PRESETS).filter(
  (name) => PRESETS[name]!.event?.id !== undefined && findFamily(name)!.signer !== undefined,
)
/** Members of a body that its provider documents to be others in the next attempt, besides those that the signer sets. */
const NEXT_ATTEMPT: { readonly [provider: string]: object } = {
  "coinbase-commerce": { id: 2, attempt_number: 2 },
  "gcp-pubsub": { deliveryAttempt: 2 },
  intercom: { delivery_attempts: 2 },
  mux: { attempts: [{ response_status_code: 503 }] },
  notion: { attempt_number: 2 },
  stripe: { pending_webhooks: 0 },
}
/** The header with an id that the provider does not sign. */
const UNSIGNED_IDS: { readonly [provider: string]: string } = Object.fromEntries(
  PROVIDERS.flatMap((name) => {
    const id = idOf(name)
    const isUnsigned = isForgeable(id, findFamily(name)!.covers(SENDERS[name]!.settings))
    return isUnsigned && id.startsWith("header:") ? [[name, id.slice("header:".length)]] : []
  }),
)

const folder = temporaryFolder()
const PIPELINES = PROVIDERS.flatMap((provider) =>
  [provider, `${provider}-captured`].map(
    (id) => `[pipeline:${id}:WebHookSource]
${verifierSection(id, provider, SENDERS[provider]!)}
[pipeline:${id}:Deduplicator]
[pipeline:${id}:BrokerSink]
topic = ${id}
`,
  ),
)
const CONFIGURATION = `[connection:log]\ndirectory = data\n${PIPELINES.join("")}`
const running = sharedByTests(() => startHookline(CONFIGURATION, { folder: folder.path }), folder)

/** Signs an event as the provider does at a time: its sample, or one for all presets with the id where this one has it. */
async function signed(provider: string, url: string, event: SampleEvent, signedMs: number, changes: object) {
  const { headers, body } = sampleRequest(provider, event)
  const location = idOf(provider)
  const own =
    provider in SAMPLES || !location.startsWith("json:")
      ? {}
      : location
          .split("/")
          .slice(1)
          .reduceRight<unknown>((value, name) => ({ [name]: value }), event.id)
  if (!(provider in SAMPLES) && location.startsWith("header:"))
    headers.set(location.slice("header:".length), event.id)
  const added = Object.entries({ ...(own as object), ...changes })
  const text = Buffer.from(body).toString()
  const changed =
    added.length === 0 ? text : JSON.stringify({ ...JSON.parse(text), ...Object.fromEntries(added) })
  const signer = makeSigner(provider, signingSettings(provider, SENDERS[provider]!))
  // each of Mailgun's signatures has a token of its own, the others' signed ids are the event's
  const id = provider === "mailgun" ? crypto.randomUUID() : event.id
  return await signer.sign({ method: "POST", url, headers, body: Buffer.from(changed), id }, signedMs)
}
const post = async ({ url, headers, body }: Awaited<ReturnType<typeof signed>>): Promise<number> =>
  (await fetch(url, { method: "POST", headers, body })).status
const recordsOf = async (topic: string): Promise<number> =>
  (await valuesInLog(join(folder.path, "data"), topic)).length

test.each(PROVIDERS)("%s: a second attempt, signed later, adds no record", async (provider) => {
  const url = running.urls[provider]!
  const nowMs = Date.now()
  const event = { id: crypto.randomUUID(), number: 1, atMs: nowMs }
  expect(await post(await signed(provider, url, event, nowMs - 2000, {}))).toBe(200)
  const records = await recordsOf(provider)
  expect(records).toBeGreaterThan(0)
  expect(await post(await signed(provider, url, event, nowMs, NEXT_ATTEMPT[provider] ?? {}))).toBe(200)
  expect(await recordsOf(provider)).toBe(records)
})

test.each(Object.entries(UNSIGNED_IDS))(
  "%s: a captured request that is sent with the id of a later delivery does not make that one a duplicate",
  async (provider, header) => {
    const topic = `${provider}-captured`
    const url = running.urls[topic]!
    const nowMs = Date.now()
    const captured = { id: crypto.randomUUID(), number: 1, atMs: nowMs }
    const later = { id: crypto.randomUUID(), number: 2, atMs: nowMs }
    const genuine = await signed(provider, url, later, nowMs, {})
    const forged = await signed(provider, url, captured, nowMs, {})
    forged.headers.set(header, genuine.headers.get(header)!)
    expect(await post(forged)).toBe(200)
    const records = await recordsOf(topic)
    expect(await post(genuine)).toBe(200)
    expect(await recordsOf(topic)).toBe(records + 1)
  },
)
