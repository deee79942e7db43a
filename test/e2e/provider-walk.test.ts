import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { eventMaker } from "../../src/commands/send.ts"
import { sendEvents } from "../../src/commands/send-events.ts"
import { PRESETS } from "../../src/verify/presets/presets.ts"
import { findFamily } from "../../src/verify/presets/providers.ts"
import { SAMPLES } from "../../src/verify/samples/samples.ts"
import type { VerifierSettings } from "../../src/verify/schemes/family.ts"
import { textOf } from "../support/documents.ts"
import { sharedByTests, hookline, startHookline, temporaryFolder } from "../support/hookline.ts"
import { valuesInLog } from "../support/log-values.ts"
import { sendersOfTests, signingSettings, verifierSection } from "../support/senders.ts"
import { HANG_MS } from "../support/hang.ts"

const SENDERS = sendersOfTests()
/** Every preset that has a sample and can be signed for. */
const WALKED = Object.keys(SAMPLES).filter(
  (name) => name in PRESETS && findFamily(name)!.signer !== undefined,
)

/** A pipeline of nothing but the provider and what its scheme needs. */
const pipeline = (provider: string): string =>
  [
    `[pipeline:${provider}:WebHookSource]`,
    verifierSection(provider, provider, SENDERS[provider]!),
    `[pipeline:${provider}:BrokerSink]\ntopic = ${provider}\n`,
  ].join("\n")

/** The settings that the provider signs with. */
const signing = (provider: string): VerifierSettings => signingSettings(provider, SENDERS[provider]!)

/** The records that docs/providers.md shows, by preset. */
const shown: { readonly [provider: string]: readonly string[] } = Object.fromEntries(
  [
    ...textOf("docs/providers.md").matchAll(/^`([a-z-]+)` sends a [^]*?\n```text\n[^\n]*\n\n([^]*?)\n```$/gm),
  ].map(([, provider, records]) => [provider!, records!.split("\n")]),
)

const folder = temporaryFolder()
const CONFIGURATION = `[connection:log]\ndirectory = data\n${WALKED.map(pipeline).join("")}`
const running = sharedByTests(() => startHookline(CONFIGURATION, { folder: folder.path }), folder)

describe.each(WALKED)("%s", (provider) => {
  test("the sample gets 200, and becomes the records of docs/providers.md", async () => {
    const { text, records } = await sendSample(provider)
    const bodies = records.map(withoutAdded)
    const expected = shown[provider]
    if (expected === undefined) expect(bodies).toEqual([text])
    else {
      expect(records.map(shape)).toEqual(expected.map(shape))
      expect(bodies.map((it) => JSON.parse(it) as unknown)).toEqual(eventsIn(text))
    }
  })
})

test("the page shows the records of every sample that is a form or a list", () => {
  expect(Object.keys(shown).toSorted()).toEqual([
    "azure-eventgrid",
    "hubspot",
    "mandrill",
    "pandadoc",
    "sendgrid",
    "twilio",
  ])
})

test.each(["azure-eventgrid", "hubspot", "mandrill", "sendgrid", "slack", "twilio"])(
  "hookline send -p %s exits 0",
  async (provider) => {
    const { secret = [], public_key: _, ...others } = signing(provider)
    await Bun.write(join(folder.path, "secret"), secret[0]!)
    const set = Object.entries(others).flatMap(([key, value]) => ["--set", `${key}=${String(value)}`])
    const url = running.urls[provider]!
    const args = ["send", "-p", provider, "--secret-file", "secret", ...set, "-n", "2", url]
    const { status, stdout } = await hookline(args, { cwd: folder.path })
    expect([status, stdout]).toEqual([0, expect.stringContaining("answers: 2 x 200\n")])
  },
)

/** Posts the sample as `hookline send` does; the body as it was sent, and what it added to the topic. */
async function sendSample(provider: string): Promise<{ text: string; records: string[] }> {
  const next = eventMaker(new URL(running.urls[provider]!), signing(provider), { provider })
  const request = await next(1)
  const before = await valuesInLog(join(folder.path, "data"), provider)
  const { outcomes, firstError } = await sendEvents(
    () => Promise.resolve(request),
    { count: 1, concurrency: 1, timeoutMs: HANG_MS },
    { signal: AbortSignal.timeout(HANG_MS), onAnswer: () => {} },
  )
  expect([firstError, [...outcomes]]).toEqual([undefined, [[200, 1]]])
  const records = await valuesInLog(join(folder.path, "data"), provider)
  return { text: Buffer.from(request.body).toString(), records: records.slice(before.length) }
}

/** A record's value without the two members that the Enricher adds. */
function withoutAdded(record: string): string {
  const added = /,"received_at":"[\d-]+T[\d:.]+[+-]\d\d:\d\d","source":"webhook"\}$/
  expect(record).toMatch(added)
  return record.replace(added, "}")
}

/** The events of a list or form, found without anything of the Decoder. */
function eventsIn(text: string): unknown[] {
  if (text.startsWith("[")) return JSON.parse(text) as unknown[]
  const form = Object.fromEntries(new URLSearchParams(text))
  return form["mandrill_events"] === undefined ? [form] : (JSON.parse(form["mandrill_events"]) as unknown[])
}

/** The record with the type of each value in its place. */
const shape = (record: string): unknown =>
  JSON.parse(record, (_, value: unknown) => (typeof value === "object" ? value : typeof value))
