import {
  brokerSink,
  decoder,
  enricher,
  Pipeline,
  testPipeline,
  validator,
  webHookSource,
} from "../src/index.ts"
import { decodingOf, PRESETS, sampleRequest, SAMPLES } from "../src/verify/senders.ts"

const EVENT = {
  id: "0e2ba5a4-9d3c-4a8e-8f0f-6a1c9f3d7b52",
  number: 1,
  atMs: Date.UTC(2026, 10, 20, 13, 3, 7),
}

/** What becomes of the samples that are forms or lists: the body as sent and its records, by preset. */
export async function renderBodies(): Promise<string> {
  const parts = Object.keys(PRESETS)
    .filter((name) => decodingOf(name) !== undefined && isDecoded(name))
    .map(renderSample)
  return (await Promise.all(parts)).join("\n\n")
}

const isDecoded = (name: string): boolean => {
  const { form, body } = SAMPLES[name] ?? {}
  return form !== undefined || Array.isArray(body)
}

async function renderSample(name: string): Promise<string> {
  const { headers, body } = sampleRequest(name, EVENT)
  const { format, unwrap, lists } = decodingOf(name)!
  const pipeline = new Pipeline(name, {
    source: webHookSource(),
    processors: [decoder({ format, unwrap, lists }), validator(), enricher()],
    sink: brokerSink({ topic: name }),
  })
  const { records } = await testPipeline(pipeline, body, { headers: Object.fromEntries(headers) })
  const values = records.map(({ value }) =>
    Buffer.from(value)
      .toString()
      .replace(/"received_at":"[^"]+"/, '"received_at":"2026-11-20T14:03:07.123+01:00"'),
  )
  const is = headers.get("Content-Type") === "application/json" ? "a list" : "a form"
  const become = values.length === 1 ? "one record" : `${values.length} records`
  return [
    `\`${name}\` sends ${is}, ${become}:`,
    "",
    "```text",
    Buffer.from(body).toString(),
    "",
    ...values,
    "```",
  ].join("\n")
}
