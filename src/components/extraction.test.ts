import type { Message } from "../message.ts"
import { expect, test } from "bun:test"
import { eventOf } from "../../test/support/event.ts"
import { EXTRACTION, checkExtractions } from "./extraction.ts"

const ACME = { name: "acme", event: { id: "header:X-Id", type: "json:/type" }, covers: undefined }
const event = eventOf('{"type":"order.paid"}', { headers: { "X-Id": "e1" } })
const text = (extraction: string): string | undefined => {
  const found = EXTRACTION.parse(extraction, ACME)!(event)
  return found && Buffer.from(found).toString()
}

test("a part of the event is found where its provider has it", () => {
  expect(text("event:id")).toBe("e1")
  expect(text("event:type")).toBe("order.paid")
})

test("other texts are what they are without a provider", () => {
  expect([text("json:/type"), text("header:x-id"), text("path"), text("json:/no")]).toEqual([
    "order.paid",
    "e1",
    "/",
    undefined,
  ])
  expect(EXTRACTION.parse("json:/type", undefined)).toBeDefined()
})

test.each(["event:", "event:name", "event:ID", "event:id ", "json:type", "header:", "body"])(
  "%p is no extraction",
  (malformed) => {
    expect(EXTRACTION.accepts(malformed)).toBe(false)
  },
)

test("a part that the provider is not known to have is a problem that names what is known", () => {
  const reported: Message[] = []
  checkExtractions(["event:time", "event:id", "json:/a"], ACME, (it) => reported.push(it))
  expect(reported).toEqual([
    "event:time has no known place in events of acme; write header:Name or json:/pointer; known: event:id, event:type",
  ])
})

test("without a Verifier every part of the event is a problem", () => {
  const reported: Message[] = []
  checkExtractions(["event:id"], undefined, (it) => reported.push(it))
  expect(reported).toEqual([
    "event:id needs a Verifier with a provider, and the pipeline has none; write header:Name or json:/pointer",
  ])
})
