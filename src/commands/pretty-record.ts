import { isUtf8 } from "node:buffer"
import type { StoredRecord } from "../brokers/broker.ts"
import { toLocalTime } from "../components/local-time.ts"
import { isJson } from "../json/check.ts"
import { escapeControls, escapeLine } from "../telemetry/escape-controls.ts"
import type { Paint } from "../process/colours.ts"
import { isDate } from "./record-formats.ts"
import { visible } from "../verify/masking.ts"

/** A record for people: where it is and its time, key and headers, then the value, indented. Control characters are escaped. */
export function toPretty(record: StoredRecord, paint: Paint): string {
  const { topic, partition, offset, timestampMs, key, headers, value } = record
  const place = `${topic}[${partition}]@${offset}`
  const heading = [
    paint("bold", escapeLine(place)),
    paint("dim", isDate(timestampMs) ? toLocalTime(timestampMs) : "no date"),
    ...(key === undefined ? [] : [`${paint("dim", "key")} ${escapeLine(toText(key))}`]),
  ]
  const lines = [
    heading.join("  "),
    ...headers.map(([name, bytes]) => `${paint("dim", `${escapeLine(name)}:`)} ${escapeLine(toText(bytes))}`),
    prettyBody(value, paint),
  ]
  return `${lines.join("\n")}\n`
}

/** JSON indented, another text and what is longer as it is; control characters are escaped. */
export function prettyBody(value: Uint8Array, paint: Paint): string {
  const text = toText(value)
  return value.length <= MOST_INDENTED_BYTES && isJson(value) ? indent(text, paint) : escapeControls(text)
}

/** An expression that repeats a group finds no string with some million escapes. */
const MOST_INDENTED_BYTES = 1024 * 1024

const toText = (bytes: Uint8Array): string => (isUtf8(bytes) ? Buffer.from(bytes).toString() : visible(bytes))

/** Deeper levels are not indented further: a value of nothing but brackets must not become its square. */
const DEEPEST = 20

/** A string, an empty container, a mark, or a number or word, with the white space around it. */
const TOKEN = /\s*("[^"\\]*(?:\\.[^"\\]*)*"|[{[]\s*[}\]]|[{}[\],:]|[^\s{}[\],:"]+)\s*/g

/** Valid JSON, one member or element a line; every token is spelled as it is. */
function indent(json: string, paint: Paint): string {
  let depth = 0
  const newLine = (): string => `\n${"  ".repeat(Math.min(depth, DEEPEST))}`
  return json.replace(/^\ufeff/, "").replace(TOKEN, (found, token: string, at: number, all: string) => {
    const first = token[0]!
    if (/^[{[]\s*[}\]]$/.test(token)) return first + token.at(-1)
    if (first === "{" || first === "[") return (depth++, first + newLine())
    if (first === "}" || first === "]") return (depth--, newLine() + first)
    if (first === ",") return `,${newLine()}`
    if (first === ":") return ": "
    const isName = all[at + found.length] === ":"
    const style = first === '"' ? (isName ? "blue" : "green") : /[a-z]/.test(first) ? "magenta" : "yellow"
    return paint(style, escapeControls(token))
  })
}
