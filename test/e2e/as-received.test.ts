import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import {
  brokerSink,
  decoder,
  enricher,
  Pipeline,
  router,
  testPipeline,
  validator,
  verifier,
  webHookSource,
} from "../../src/index.ts"
import type { PipelineParts, StoredRecord } from "../../src/index.ts"
import { makeVerifier } from "../../src/verify/presets/providers.ts"
import { runToEnd } from "../support/child.ts"
import { PythonPackages } from "../support/python-packages.ts"

const SECRET = "not-a-real-secret-0000000000"

type Steps = PipelineParts["processors"]
type SinkOptions = Parameters<typeof brokerSink>[0]

const piped = (steps: Steps, options: Partial<SinkOptions> = {}): Pipeline =>
  new Pipeline("p", {
    source: webHookSource({ host: "127.0.0.1", publicUrl: "https://hooks.example.com" }),
    processors: [
      ...steps,
      validator(),
      enricher({ value: "received" }),
      router({ by: "json:/kind", routes: [["x", "of-x"]] }),
    ],
    sink: brokerSink({ topic: "t", ...options }),
  })

const textOf = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString()
const headerOf = ({ headers }: StoredRecord, wanted: string): string | null =>
  headers.filter(([name]) => name === wanted).map(([, value]) => textOf(value))[0] ?? null

/** Whether a consumer of the record finds the signature of a provider valid. */
async function verifiesAgain(provider: string, record: StoredRecord): Promise<string> {
  const headers = new Headers(
    record.headers.map(([name, value]): [string, string] => [
      name.replace(/^received-content-type$/, "content-type"),
      textOf(value),
    ]),
  )
  const url = headerOf(record, "received-url") ?? ""
  const request = { method: "POST", url, path: "/webhook", query: "", headers, body: record.value }
  return (await makeVerifier(provider, { secret: [SECRET] }).verify(request, Date.now())).kind
}

test("a record as received verifies again: JSON with white space and a source of its own", async () => {
  const seconds = Math.floor(Date.now() / 1000)
  const body = `{ "id":"evt_1",  "source": {"id":"src_1"},"kind":"x" }\n`
  const signature = createHmac("sha256", SECRET).update(`${seconds}.${body}`).digest("hex")
  const { status, records } = await testPipeline(
    piped([verifier({ provider: "stripe", secret: SECRET })], { key: "json:/id" }),
    body,
    { headers: { "Stripe-Signature": `t=${seconds},v1=${signature}`, "X-Other": "1" } },
  )
  const [record] = records
  expect([status, records.length, record!.topic, textOf(record!.key)]).toEqual([200, 1, "of-x", "evt_1"])
  expect(textOf(record!.value)).toBe(body)
  expect([headerOf(record!, "source"), headerOf(record!, "x-other")]).toEqual(["webhook", null])
  expect(await verifiesAgain("stripe", record!)).toBe("verified")
})

test("a record as received verifies again: a form, which is routed by what the Decoder makes of it", async () => {
  const sorted = "https://hooks.example.com/webhookBodyhikindx"
  const signature = createHmac("sha1", SECRET).update(sorted).digest("base64")
  const { records } = await testPipeline(
    piped([verifier({ provider: "twilio", secret: SECRET }), decoder()], { key: "json:/Body" }),
    "kind=x&Body=hi",
    { headers: { "X-Twilio-Signature": signature, "Content-Type": "application/x-www-form-urlencoded" } },
  )
  const [record] = records
  expect([record!.topic, textOf(record!.key), textOf(record!.value)]).toEqual([
    "of-x",
    "hi",
    "kind=x&Body=hi",
  ])
  expect(await verifiesAgain("twilio", record!)).toBe("verified")
})

test("a body that a step of one's own has changed is published as changed, and not as received", async () => {
  const redact: Steps[number] = (event) => {
    event.body = JSON.stringify({ ...event.json<object>(), card: "-" })
    return event
  }
  const { records } = await testPipeline(piped([validator(), redact]), '{"card":"4242"}')
  expect(records.map(({ value }) => textOf(value))).toEqual(['{"card":"-"}'])
})

test.each([
  ["gitlab", { secret: "t0ken" }],
  ["basic", { username: "a", password: "b" }],
  ["jwt", { secret: "not-a-real-secret-0000000000-32ch" }],
] as const)(
  "value = received is refused where the header is the secret itself: %s",
  async (provider, given) => {
    const steps = [verifier({ provider, ...given } as Parameters<typeof verifier>[0])]
    await expect(testPipeline(piped(steps), "{}")).rejects.toThrow(
      `would put the secret that ${provider} sends into the record`,
    )
  },
)

const cloudevents = new PythonPackages("cloudevents==2.2.0")
test.skipIf(!(await cloudevents.areHere()))(
  "Python's CloudEvents library reads a structured event with its own source",
  async () => {
    const body = '{"specversion":"1.0","id":"1","source":"/shop","type":"order","data":{"n":1}}'
    const { records } = await testPipeline(piped([]), body, {
      headers: { "Content-Type": "application/cloudevents+json" },
    })
    const program = `import base64, json, sys
from cloudevents.core.bindings.kafka import KafkaMessage, from_kafka
from cloudevents.core.formats.json import JSONFormat
headers, value = json.loads(sys.argv[1]), base64.b64decode(sys.argv[2])
message = KafkaMessage(headers={name: text.encode() for name, text in headers}, key=None, value=value)
event = from_kafka(message, JSONFormat())
print(event.get_source(), event.get_type(), event.get_data()["n"], message.headers["content-type"].decode())`
    const { headers, value } = records[0]!
    const texts = headers.map(([name, it]) => [name, textOf(it)])
    const run = await runToEnd(
      ["python3", "-c", program, JSON.stringify(texts), Buffer.from(value).toString("base64")],
      { env: cloudevents.env },
    )
    expect(run).toEqual({ status: 0, stdout: "/shop order 1 application/cloudevents+json\n", stderr: "" })
  },
)
