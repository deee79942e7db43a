import { expect, test } from "bun:test"
import { componentContext } from "../../test/support/component-context.ts"
import { eventOf, IN_TIME } from "../../test/support/event.ts"
import type { KnownSender } from "./known-sender.ts"
import type { Coverage } from "../verify/schemes/family.ts"
import type { Event } from "../pipeline/event.ts"
import { resolveSection } from "../config/options/resolve.ts"
import { Problems } from "../config/file/problems.ts"
import { decoder } from "./decoder.ts"

const FORM = "application/x-www-form-urlencoded"
const MULTIPART = "multipart/form-data; boundary=x"

interface Options {
  readonly [option: string]: unknown
}

interface Given {
  isForm?: boolean
  freeBytes?: number
  sender?: KnownSender
}

function decode(
  options: Options,
  body: string | Uint8Array,
  contentType?: string,
  { isForm = false, freeBytes = Infinity, sender }: Given = {},
): unknown {
  const problems = new Problems(undefined)
  const found = { address: "d", section: undefined, inCode: options, baseDir: "/" }
  const { values } = resolveSection(decoder, found, problems)
  problems.throwIfAny()
  const step = decoder.create(values as Parameters<typeof decoder.create>[0], componentContext({ sender }))
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

const latin1 = (text: string): Uint8Array => Buffer.from(text, "latin1")
/** A multipart form of these parts. */
const multipart = (...parts: (readonly [headers: string, value: string])[]): string =>
  `${parts.map(([headers, value]) => `--x\r\nContent-Disposition: form-data; ${headers}\r\n\r\n${value}\r\n`).join("")}--x--`

/** Bodies with a character for each byte. */
test.each<[what: string, options: Options, body: string, contentType: string, decoded: string]>([
  // forms
  ["Content-Type", {}, "a=Jos%E9%80", `${FORM}; charset=windows-1252`, '{"a":"José€"}'],
  [
    "Content-Type in quotes",
    {},
    "\xe9=\xe9",
    `${FORM};boundary="; charset=big5"; CharSet="ISO-8859-1"`,
    '{"é":"é"}',
  ],
  ["several bytes a character", {}, "%83e=%83%58", `${FORM}; charset=Shift_JIS`, '{"テ":"ス"}'],
  ["escape sequences", {}, "a=%1B$B$%22%1B(B", `${FORM}; charset=iso-2022-jp`, '{"a":"あ"}'],
  ["charset, a field", {}, "a=Jos%E9&charset=windows-1252", FORM, '{"a":"José","charset":"windows-1252"}'],
  ["charset, a field, and UTF-8", {}, "charset=UTF-8&a=%C3%A9", FORM, '{"charset":"UTF-8","a":"é"}'],
  ["a field charset that is none", {}, "charset=long&a=%C3%A9", FORM, '{"charset":"long","a":"é"}'],
  ["_charset_", {}, "a=%E9&_charset_=iso-8859-2", FORM, '{"a":"é","_charset_":"iso-8859-2"}'],
  [
    "_charset_ first",
    {},
    "charset=big5&_charset_=latin1&a=%E9",
    `${FORM}; charset=utf-8`,
    '{"charset":"big5","_charset_":"latin1","a":"é"}',
  ],
  ["_charset_ without a value", {}, "_charset_=&a=%C3%A9", FORM, '{"_charset_":"","a":"é"}'],
  [
    "Content-Type before charset",
    {},
    "charset=latin1&a=%C3%A9",
    `${FORM}; charset=utf-8`,
    '{"charset":"latin1","a":"é"}',
  ],
  ["no form is UTF-16", {}, "ab=%C3%A9", `${FORM}; charset=utf-16`, '{"ab":"é"}'],
  ["the option", { charset: "windows-1252" }, "a=%E9", FORM, '{"a":"é"}'],
  ["before the option", { charset: "windows-1252" }, "a=%C3%A9", `${FORM}; charset=utf-8`, '{"a":"é"}'],
  ["JSON of a field", { unwrap: "p" }, 'p={"a":"\xe9"}', `${FORM}; charset=latin1`, '{"a":"é"}'],
  // text
  ["text", {}, "Caf\xe9", "text/plain; charset=iso-8859-1", '{"text":"Café"}'],
  ["text in UTF-16", {}, "\xe9\x00a\x00", "text/plain; charset=utf-16le", '{"text":"éa"}'],
  ["text and the option", { charset: "koi8-r" }, "\xc1", "text/plain", '{"text":"а"}'],
  // multipart
  [
    "a part, and not its neighbour",
    {},
    multipart(
      ['name="a"\r\nContent-Type: text/plain; charset=windows-1252', "\xe9\x80"],
      ['name="b"', "\xc3\xa9"],
    ),
    MULTIPART,
    '{"a":"é€","b":"é"}',
  ],
  [
    "all parts, names too",
    {},
    multipart(['name="\xe9"', "\xe9"]),
    `${MULTIPART}; charset=latin1`,
    '{"é":"é"}',
  ],
  [
    "_charset_ of all parts but those that say otherwise",
    {},
    multipart(
      ['name="a"', "\x83\x65"],
      ['name="u"\r\nContent-Type: text/plain; charset=utf-8', "\xc3\xa9"],
      ['name="_charset_"', "shift_jis"],
      ['name="f"; filename="\x83\x65.txt"\r\nContent-Type: text/plain; charset=latin1', "\xe9"],
    ),
    MULTIPART,
    '{"a":"テ","u":"é","_charset_":"shift_jis","f":{"filename":"テ.txt","content_type":"text/plain; charset=latin1","base64":"6Q=="}}',
  ],
  [
    "charset of all parts",
    {},
    multipart(['name="a"', "\xe9"], ['name="charset"', "cp1252"]),
    MULTIPART,
    '{"a":"é","charset":"cp1252"}',
  ],
  [
    "a file called charset",
    {},
    multipart(['name="a"', "\xc3\xa9"], ['name="charset"; filename=""', "latin1"]),
    MULTIPART,
    '{"a":"é","charset":{"filename":"","base64":"bGF0aW4x"}}',
  ],
  [
    "charsets of single fields",
    {},
    multipart(
      ['name="text"', "\xe9"],
      ['name="subject"', "\xc3\xa9"],
      ['name="charsets"', '{"text":"iso-8859-1","subject":"UTF-8","html":"klingon","to":1}'],
    ),
    MULTIPART,
    JSON.stringify({
      text: "é",
      subject: "é",
      charsets: '{"text":"iso-8859-1","subject":"UTF-8","html":"klingon","to":1}',
    }),
  ],
  // JSON
  [
    "JSON is UTF-8",
    { charset: "latin1" },
    '{"a":"\xc3\xa9"}',
    "application/json; charset=latin1",
    '{"a":"é"}',
  ],
])("text is read in the charset that is declared: %s", (_what, options, body, contentType, decoded) => {
  expect(decode(options, latin1(body), contentType)).toBe(decoded)
})

test.each<[what: string, body: string, contentType: string, status: number, reason: string, detail: string]>([
  [
    "a form",
    "a=1",
    `${FORM}; charset=klingon`,
    415,
    "unknown_charset",
    'The body has the charset "klingon", which is unknown.',
  ],
  [
    "text",
    "a",
    "text/plain; charset=utf-7",
    415,
    "unknown_charset",
    'The body has the charset "utf-7", which is unknown.',
  ],
  [
    "a part",
    multipart(['name="a"\r\nContent-Type: text/plain; charset=utf-99', "a"]),
    MULTIPART,
    415,
    "unknown_charset",
    'The body has the charset "utf-99", which is unknown.',
  ],
  [
    "_charset_",
    `_charset_=${"x".repeat(50)}`,
    FORM,
    415,
    "unknown_charset",
    `The body has the charset "${"x".repeat(40)}", which is unknown.`,
  ],
  [
    "charset, and no UTF-8",
    "charset=long&a=%E9",
    FORM,
    400,
    "invalid_utf8",
    "The body is a form with bytes that are not UTF-8 in field 2.",
  ],
  [
    "a form of other bytes",
    "b=1&a=%83",
    `${FORM}; charset=sjis`,
    400,
    "invalid_charset",
    "The body is a form with bytes that are not shift_jis in field 2.",
  ],
  [
    "a part of other bytes",
    multipart(['name="a"\r\nContent-Type: text/plain; charset=big5', "\xff"]),
    MULTIPART,
    400,
    "invalid_charset",
    "The body is a form with bytes that are not big5 in field 1.",
  ],
  [
    "text of other bytes",
    "\xff",
    "text/plain; charset=euc-kr",
    400,
    "invalid_charset",
    "The body is text that is not euc-kr.",
  ],
])(
  "a charset that is unknown, or not the body's, is refused: %s",
  (_what, body, contentType, status, reason, detail) => {
    expect(decode({}, latin1(body), contentType)).toMatchObject({ kind: "rejected", status, reason, detail })
  },
)

test("a form whose parameters are signed is UTF-8, as it was verified, whatever is declared", () => {
  const options = { charset: "latin1" }
  for (const body of ["a=%C3%A9", "a=%C3%A9&charset=latin1", "a=%C3%A9&_charset_=latin1"])
    expect(decode(options, body, `${FORM}; charset=latin1`, { isForm: true })).toStartWith('{"a":"é"')
})

test("a Content-Type that is not signed makes no other text of a signed body in UTF-8", () => {
  const covers: Coverage = { body: "whole", time: false, id: false }
  const bodies = [
    [latin1("a=%E9"), `${FORM}; charset=latin1`, '{"a":"é"}', '{"a":"é"}'],
    ["a=%E2%98%95\\", `${FORM}; charset=gbk`, '{"a":"☕\\\\"}', '{"a":"鈽昞"}'],
    ["☕", "text/plain; charset=gbk", '{"text":"☕"}', undefined],
    [multipart(['name="a"', "é"]), `${MULTIPART}; charset=latin1`, '{"a":"é"}', '{"a":"Ã©"}'],
    // what the body itself says is signed
    ["a=%C3%A9&_charset_=latin1", FORM, '{"a":"Ã©","_charset_":"latin1"}', undefined],
  ] as const
  const signed = { sender: { name: "acme", event: {}, covers } }
  const withType = { sender: { name: "acme", event: {}, covers: { ...covers, headers: ["content-type"] } } }
  for (const [body, type, open, closed = expect.anything()] of bodies) {
    expect(decode({}, body, type, signed)).toBe(open)
    expect(decode({}, body, type, withType)).toEqual(closed)
    expect(decode({}, body, type)).toEqual(closed)
  }
})

test("the option's charset is one that is known", () => {
  expect(() => decode({ charset: "latin-1" }, "")).toThrow(
    'charset: "latin-1" is not a label of the Encoding standard, such as windows-1252 or Shift_JIS',
  )
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
      { format, lists: "split", max_list_items: 9, charset: "utf-8" } as Parameters<typeof decoder.create>[0],
      componentContext(),
    )
    step(event, IN_TIME)
    expect(event.isForm).toBe(true)
  }
})
