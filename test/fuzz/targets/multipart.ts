import assert from "node:assert/strict"
import { formToJson } from "../../../src/components/decoder/form-to-json.ts"
import { UTF_8 } from "../../../src/forms/charset.ts"
import type { Field, FormFlaw } from "../../../src/forms/field.ts"
import { parseMultipart } from "../../../src/forms/multipart.ts"
import type { Target } from "../target.ts"

const TYPE = "multipart/form-data; boundary=x"
const UNDECLARED = { declared: undefined, fallback: UTF_8 }
const A = 'Content-Disposition: form-data; name="a"'

const quote = (text: string): string =>
  `"${text.replaceAll("\\", "\\\\").replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A")}"`

/** The form written anew, with a boundary of its own. */
function write(fields: readonly Field[]): { body: Buffer; type: string } {
  const boundary = crypto.randomUUID()
  const parts = fields.map(({ name, value }) => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name=${quote(name)}`
    if (typeof value === "string") return Buffer.from(`${head}\r\n\r\n${value}\r\n`)
    const type = value.contentType === undefined ? "" : `\r\nContent-Type: ${value.contentType}`
    const file = `${head}; filename=${quote(value.filename)}${type}\r\n\r\n`
    return Buffer.concat([Buffer.from(file), value.bytes, Buffer.from("\r\n")])
  })
  const body = Buffer.concat([...parts, Buffer.from(`--${boundary}--`)])
  return { body, type: `multipart/form-data; boundary=${boundary}` }
}

/** Fields as plain values. */
const plain = (fields: readonly Field[] | FormFlaw): unknown =>
  "problem" in fields
    ? fields
    : fields.map(({ name, value }) => [
        name,
        typeof value === "string" ? value : { ...value, bytes: Buffer.from(value.bytes).toString("hex") },
      ])

/** A multipart form beside its own fields, written and read again, and the JSON that is made of it. */
export const multipart: Target = {
  name: "multipart",
  seeds: [
    "--x--",
    `--x\r\n${A}\r\n\r\n1\r\n--x\r\n${A}\r\n\r\n2\r\n--x--\r\n`,
    `\r\n--x\r\n${A}; filename="b.txt"\r\nContent-Type: text/plain\r\n\r\n\0\r\n--x--after`,
    "--x\r\ncontent-disposition:form-data;filename*=utf-8''%C3%A9;NAME=__proto__\r\n\r\n\r\n--x--",
    '--x\r\nContent-Disposition: form-data; name="%22\\"\\\\%0D"\r\nX: y\r\n\r\n\r\n--x\r\n--x--',
    `--x\r\n${A}\r\n\r\n\u00e9--x\r\n--xy\r\n--x--`,
    `--x\r\n${A}\r\nContent-Type: text/plain; charset=big5\r\n\r\n\u00e9\r\n--x--`,
    `--x\r\n${A.replace('"a"', '"_charset_"')}\r\n\r\nlatin1\r\n--x\r\n${A}\r\n\r\n\u00e9\r\n--x--`,
  ],
  words: [
    "--x",
    "\r\n",
    "\r\n\r\n",
    "--",
    A,
    '; filename="',
    "filename*=utf-8''",
    "%22",
    '\\"',
    '"',
    ";",
    ":",
  ],
  check(bytes) {
    const fields = parseMultipart(bytes, TYPE, UNDECLARED)
    if ("problem" in fields) return
    // quoted, these always stand for what they escape
    const names = fields.flatMap(({ name, value }) =>
      typeof value === "string" ? name : [name, value.filename],
    )
    if (names.some((it) => /%(?:22|0d|0a)/i.test(it))) return
    // what is written is UTF-8, and these may say otherwise
    if (names.some((it) => /^(?:_charset_|charsets?)$/.test(it))) return
    const { body, type } = write(fields)
    assert.deepEqual(plain(parseMultipart(body, type, UNDECLARED)), plain(fields))
    const json = formToJson(fields, { unwrap: undefined, jsonFields: new Set() })
    assert.equal(typeof json, "string")
    const members = new Set(fields.map(({ name }) => name))
    assert.deepEqual(new Set(Object.keys(JSON.parse(json as string) as object)), members)
  },
}
