import { expect, test } from "bun:test"
import { UTF_8 } from "./charset.ts"
import { MOST_FIELDS } from "./field.ts"
import { parseMultipart } from "./multipart.ts"

const TYPE = "multipart/form-data; boundary=XyZ"
const A = 'Content-Disposition: form-data; name="a"'
const part = (headers: string, value: string): string => `--XyZ\r\n${headers}\r\n\r\n${value}\r\n`
const END = "--XyZ--\r\n"

/** @param body with a character for each byte */
const parse = (body: string, type = TYPE): unknown => {
  const fields = parseMultipart(Buffer.from(body, "latin1"), type, { declared: undefined, fallback: UTF_8 })
  if (!Array.isArray(fields)) return fields.problem
  return fields.map(({ name, value }) =>
    typeof value === "string"
      ? [name, value]
      : [name, value.filename, value.contentType, Buffer.from(value.bytes).toString("latin1")],
  )
}

test.each<[what: string, body: string, fields: (string | undefined)[][]]>([
  ["no part", END, []],
  [
    "fields in their order",
    part(A, "1") + part(A.replace('"a"', '"7"'), "") + part(A, "2") + END,
    [
      ["a", "1"],
      ["7", ""],
      ["a", "2"],
    ],
  ],
  ["line breaks before, text after", `\r\n\n${part(A, "1")}${END}after`, [["a", "1"]]],
  ["no line end after the last boundary", part(A, "1") + "--XyZ--", [["a", "1"]]],
  ["what looks like a boundary within a line", part(A, "1--XyZ--") + END, [["a", "1--XyZ--"]]],
  [
    "line ends and a byte-order mark in a value",
    part(A, "\r\n\xef\xbb\xbf\r\n") + END,
    [["a", "\r\n\ufeff\r\n"]],
  ],
  ["UTF-8 in a name", part(A.replace('"a"', '"\xc3\xa9; filename=x"'), "1") + END, [["é; filename=x", "1"]]],
  [
    "names that are not quoted, in other letters",
    part("content-disposition:form-data;NAME=a", "1") + END,
    [["a", "1"]],
  ],
  ["what browsers escape", part(A.replace('"a"', '"%22%0D%0A%25"'), "1") + END, [['"\r\n%25', "1"]]],
  [
    "what others escape",
    part(A.replace('"a"', String.raw`"a\"b\\c\d"`), "1") + END,
    [[String.raw`a"b\c\d`, "1"]],
  ],
  [
    "a file",
    part(`${A}; filename="x.bin"\r\nContent-Type: image/png; a=b`, "\0\xff\r\n--Xy\r\n\xfe") + END,
    [["a", "x.bin", "image/png; a=b", "\0\xff\r\n--Xy\r\n\xfe"]],
  ],
  ["a file without a type", part(`${A}; filename="C:\\x"`, "1") + END, [["a", "C:\\x", undefined, "1"]]],
  ["a file without a name", part(`${A}; filename=""`, "1") + END, [["a", "", undefined, "1"]]],
  [
    "a file with a name of RFC 8187",
    part(`${A}; filename*=utf-8''na%C3%AFve.txt`, "1") + END,
    [["a", "naïve.txt", undefined, "1"]],
  ],
])("%s", (_what, body, fields) => {
  expect(parse(body)).toEqual(fields)
})

test.each<[what: string, body: string, problem: string]>([
  ["nothing", "", "does not begin with its boundary"],
  ["text before", `pre\r\n${part(A, "1")}${END}`, "does not begin with its boundary"],
  ["a space before", ` \r\n${part(A, "1")}${END}`, "does not begin with its boundary"],
  ["another boundary", `--other\r\n${A}\r\n\r\n1\r\n--other--`, "does not begin with its boundary"],
  [
    "a boundary that only begins alike",
    part(A, "1").replace("XyZ", "XyZa") + END,
    "has no line end after its boundary at byte 5",
  ],
  ["no last boundary", part(A, "1"), "ends without its last boundary"],
  ["a body that ends within a part", `--XyZ\r\n${A}\r\n\r\n12`, "ends without its last boundary"],
  ["headers that do not end", `--XyZ\r\n${A}\r\n`, "has a part without the end of its headers at byte 5"],
  [
    "headers of more than 8 KiB",
    part(`${A}\r\nX: ${"x".repeat(8192)}`, "1") + END,
    "has a part without the end of its headers at byte 5",
  ],
  [
    "bare line feeds",
    (part(A, "1") + END).replaceAll("\r\n", "\n"),
    "has no line end after its boundary at byte 5",
  ],
  ["no Content-Disposition", part("X: y", "1") + END, "has no name in part 1"],
  ["no name", part("Content-Disposition: form-data", "1") + END, "has no name in part 1"],
  [
    "another disposition",
    part('Content-Disposition: attachment; name="a"', "1") + END,
    "has no name in part 1",
  ],
  ["two names", part(`${A}; name="b"`, "1") + END, "has no name in part 1"],
  ["something behind the name", part(`${A} b`, "1") + END, "has no name in part 1"],
  ["a header without a colon", part(`${A}\r\nX`, "1") + END, "has a malformed header in part 1"],
  ["a header twice", part(`${A}\r\n${A.toLowerCase()}`, "1") + END, "has a header twice in part 1"],
])("refused: %s", (_what, body, problem) => {
  expect(parse(body)).toBe(`is not a multipart form: it ${problem}`)
})

test("the boundary is the Content-Type's, with or without quotes", () => {
  const body = part(A, "1") + END
  expect(parse(body, 'Multipart/Form-Data; charset=utf-8; BOUNDARY="XyZ"')).toEqual([["a", "1"]])
  const none = "is not a multipart form: it has no boundary in its Content-Type"
  for (const type of ["multipart/form-data", "", 'multipart/form-data; boundary=""'])
    expect(parse(body, type)).toBe(none)
})

test.each([
  ["value", part(A, "1") + part(A, "\xe9") + END],
  ["name", part(A, "1") + part(A.replace('"a"', '"\xe9"'), "1") + END],
])("a %s that is not UTF-8 is refused", (_what, body) => {
  expect(parse(body)).toBe("is a form with bytes that are not UTF-8 in field 2")
})

test("a thousand parts are the most", () => {
  expect(parse(part(A, "1").repeat(MOST_FIELDS) + END)).toHaveLength(MOST_FIELDS)
  expect(parse(part(A, "1").repeat(MOST_FIELDS + 1) + END)).toBe("has more than 1000 fields")
})

test("what Bun's FormData sends is read as it was", async () => {
  const form = new FormData()
  form.append("text", 'é "quoted"\r\n')
  form.append('na"me\r\n', "")
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
  form.append("file", new Blob([bytes], { type: "application/x-own" }), 'na"me é.bin')
  const request = new Response(form)
  const type = request.headers.get("content-type")!
  const body = Buffer.from(await request.bytes()).toString("latin1")
  expect(parse(body, type)).toEqual([
    ["text", 'é "quoted"\r\n'],
    ['na"me\r\n', ""],
    ["file", 'na"me é.bin', "application/x-own", Buffer.from(bytes).toString("latin1")],
  ])
})
