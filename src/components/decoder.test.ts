import { expect, test } from "bun:test"
import { componentContext } from "../../test/support/component-context.ts"
import { eventOf, IN_TIME } from "../../test/support/event.ts"
import type { Event } from "../pipeline/event.ts"
import { resolveSection } from "../config/options/resolve.ts"
import { Problems } from "../config/file/problems.ts"
import { decoder } from "./decoder.ts"

const FORM = "application/x-www-form-urlencoded"
const MULTIPART = "multipart/form-data; boundary=x"

interface Options {
  readonly [option: string]: unknown
}

function decode(
  options: Options,
  body: string | Uint8Array,
  contentType?: string,
  { isForm = false, freeBytes = Infinity } = {},
): unknown {
  const problems = new Problems(undefined)
  const found = { address: "d", section: undefined, inCode: options, baseDir: "/" }
  const { values } = resolveSection(decoder, found, problems)
  problems.throwIfAny()
  const step = decoder.create(values as Parameters<typeof decoder.create>[0], componentContext())
  const event = eventOf(body, { headers: contentType === undefined ? {} : { "Content-Type": contentType } })
  event.isForm = isForm
  event.memory = { grow: (bytes) => bytes <= freeBytes }
  const result = step(event, IN_TIME)
  if (result === event) return textOf(event)
  return Array.isArray(result) ? result.map(textOf) : result
}
const textOf = ({ body }: Event): string => Buffer.from(body).toString()

test.each<[options: Options, body: string, contentType: string | undefined, decoded: string | string[]]>([
  // a form, in its order, losing nothing
  [{}, "b=1&2=x&1=y&__proto__=z&b=3", FORM, '{"b":["1","3"],"2":"x","1":"y","__proto__":"z"}'],
  [{}, 'q="\\&e=%0A%00', `${FORM}; charset=utf-8`, String.raw`{"q":"\"\\","e":"\n\u0000"}`],
  [{}, "h=%C3%A9é", FORM, '{"h":"éé"}'],
  [{}, "", FORM, "{}"],
  [{ format: "form" }, "a", undefined, '{"a":""}'],
  [
    { jsonFields: ["n"] },
    "n=%7B%22x%22%3A1e400,%20%22x%22%3A2%7D&a=1",
    FORM,
    '{"n":{"x":1e400, "x":2},"a":"1"}',
  ],
  [{ jsonFields: ["n"] }, "n=1.0&n=%22a%22", FORM, '{"n":[1.0,"a"]}'],
  [
    { unwrap: "payload" },
    "payload=+%7B%22a%22%3A12345678901234567890%7D&b=1",
    FORM,
    ' {"a":12345678901234567890}',
  ],
  [{ unwrap: "payload" }, "command=%2Fx&text=a", FORM, '{"command":"/x","text":"a"}'],
  [{ unwrap: "e", lists: "split" }, "e=[1,%7B%7D]", FORM, ["1", "{}"]],
  // multipart
  [
    {},
    '--x\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nhé\r\n--x\r\nContent-Disposition: form-data; name="t"\r\n\r\n1\r\n--x--',
    MULTIPART,
    '{"f":{"filename":"a.txt","content_type":"text/plain","base64":"aMOp"},"t":"1"}',
  ],
  [
    {},
    '--x\r\nContent-Disposition: form-data; name="f"; filename=""\r\n\r\n\r\n--x--',
    MULTIPART,
    '{"f":{"filename":"","base64":""}}',
  ],
  // text
  [{}, ' a "b"\n', "text/plain; charset=utf-8", String.raw`{"text":" a \"b\"\n"}`],
  [{ format: "text" }, '\ufeff{"a":1}', "application/json", '{"text":"\ufeff{\\"a\\":1}"}'],
  // JSON, whatever the Content-Type says
  [{}, '\ufeff { "a" : 1.0 }', FORM, '\ufeff { "a" : 1.0 }'],
  [{}, '{"a":1}', "text/plain", '{"a":1}'],
  [{}, "{not JSON", FORM, "{not JSON"],
  [{}, "a=1", "application/json", "a=1"],
  [{}, "a=1", undefined, "a=1"],
  [{ format: "json" }, "a=1", FORM, "a=1"],
  [{}, "", undefined, ""],
  // lists
  [{}, "[{}]", undefined, "[{}]"],
  [{ lists: "wrap" }, '\ufeff\n[ 1.0, {"a": 1e400} ] ', undefined, '{"items":\n[ 1.0, {"a": 1e400} ] }'],
  [{ lists: "wrap" }, "[]", undefined, '{"items":[]}'],
  [{ lists: "wrap" }, '[],"x":[]', undefined, '[],"x":[]'],
  [{ lists: "wrap" }, "{}", undefined, "{}"],
  [
    { lists: "split" },
    '\ufeff [ {"a": 1.0} , [2,3],"]" ,\n4 ]',
    undefined,
    ['{"a": 1.0}', "[2,3]", '"]"', "4"],
  ],
  [{ lists: "split" }, "[]", undefined, []],
  [{ lists: "split" }, "[1,]", undefined, "[1,]"],
  [{ lists: "split", maxListItems: 2 }, "[1,2]", undefined, ["1", "2"]],
])("%j %j %j", (options, body, contentType, decoded) => {
  expect(decode(options, body, contentType)).toEqual(decoded)
})

test.each<
  [options: Options, body: string, contentType: string, status: number, reason: string, detail: string]
>([
  [{}, "a=%ff", FORM, 400, "invalid_utf8", "The body is a form with bytes that are not UTF-8 in field 1."],
  [{}, "a&".repeat(1001), FORM, 413, "too_many_fields", "The body has more than 1000 fields."],
  [
    {},
    "a",
    MULTIPART,
    400,
    "invalid_form",
    "The body is not a multipart form: it does not begin with its boundary.",
  ],
  [
    { format: "multipart" },
    "a",
    FORM,
    400,
    "invalid_form",
    "The body is not a multipart form: it has no boundary in its Content-Type.",
  ],
  [{ unwrap: "p" }, "p=1&p=2", FORM, 400, "duplicate_field", "The body has the field p more than once."],
  [
    { unwrap: "p" },
    "p=%7B",
    FORM,
    400,
    "invalid_json_field",
    "The body has a field p that is not valid JSON: expected a name in quotes at byte 1.",
  ],
  [
    { jsonFields: ["p"] },
    "p=1%5D",
    FORM,
    400,
    "invalid_json_field",
    "The body has a field p that is not valid JSON: expected the end at byte 1.",
  ],
  [
    { jsonFields: ["p"] },
    "p=",
    FORM,
    400,
    "invalid_json_field",
    "The body has a field p that is not valid JSON: expected a value at byte 0.",
  ],
  [
    { lists: "split", maxListItems: 2 },
    "[1,2,3]",
    "application/json",
    413,
    "too_many_items",
    "The body is a list of more than 2 items.",
  ],
])("refused: %j %.20s", (options, body, contentType, status, reason, detail) => {
  expect(decode(options, body, contentType)).toMatchObject({ kind: "rejected", status, reason, detail })
})

test("text that is not UTF-8 is refused", () => {
  expect(decode({}, Uint8Array.of(0xe9), "text/plain")).toMatchObject({ status: 400, reason: "invalid_utf8" })
})

test("what is made of a body needs room in the in-flight budget", () => {
  const full = expect.objectContaining({ status: 503, reason: "in_flight_full" })
  expect(decode({}, "a=1", FORM, { freeBytes: 5 })).toEqual(full)
  expect(decode({}, "a=1", FORM, { freeBytes: 6 })).toBe('{"a":"1"}')
  expect(decode({ lists: "split" }, "[1,2]", undefined, { freeBytes: 2047 })).toEqual(full)
  expect(decode({ lists: "split" }, "[1,2]", undefined, { freeBytes: 2048 })).toEqual(["1", "2"])
  expect(decode({ unwrap: "a" }, "a=%7B%7D", FORM, { freeBytes: 0 })).toBe("{}")
})

test("a body whose signature covers form parameters alone is read as a form, and as nothing else", () => {
  expect(decode({}, '{"evil":true}', "application/json", { isForm: true })).toBe('{"{\\"evil\\":true}":""}')
  const options = ["json", "text", "multipart"].map((format) => ({ format }))
  const event = eventOf('{"evil":true}')
  event.isForm = true
  for (const { format } of options) {
    const step = decoder.create(
      { format, lists: "split", max_list_items: 9 } as Parameters<typeof decoder.create>[0],
      componentContext(),
    )
    step(event, IN_TIME)
    expect(event.isForm).toBe(true)
  }
})
