import { isUtf8 } from "node:buffer"
import type { StoredRecord } from "../brokers/broker.ts"
import { toLocalTime } from "../components/local-time.ts"
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  isSpace,
  skipSpace,
  startOfText,
} from "../json/bytes.ts"
import { isJson } from "../json/check.ts"
import { endOfString } from "../json/tokens.ts"
import { escapeControls, escapeLine } from "../telemetry/escape-controls.ts"
import type { Paint, Style } from "./colours.ts"
import { isDate } from "./record-formats.ts"
import { visible } from "../verify/explain/visible.ts"

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

/** JSON indented, another text as it is; control characters are escaped. */
export const prettyBody = (value: Uint8Array, paint: Paint): string =>
  isJson(value) ? indent(value, paint) : escapeControls(toText(value))

const toText = (bytes: Uint8Array): string => (isUtf8(bytes) ? Buffer.from(bytes).toString() : visible(bytes))

/** Deeper levels are not indented further: a value of nothing but brackets must not become its square. */
const DEEPEST = 20

/** Valid JSON, one member or element a line; every token is spelled as it is. */
function indent(json: Uint8Array, paint: Paint): string {
  let text = ""
  let depth = 0
  const newLine = (): string => `\n${"  ".repeat(Math.min(depth, DEEPEST))}`
  for (let at = skipSpace(json, startOfText(json)); at < json.length; at = skipSpace(json, at)) {
    const byte = json[at]!
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      const next = skipSpace(json, at + 1)
      const isEmpty = json[next] === CLOSE_BRACE || json[next] === CLOSE_BRACKET
      text += String.fromCharCode(byte)
      if (isEmpty) text += String.fromCharCode(json[next]!)
      else {
        depth++
        text += newLine()
      }
      at = isEmpty ? next + 1 : at + 1
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--
      text += `${newLine()}${String.fromCharCode(byte)}`
      at++
    } else if (byte === COMMA) {
      text += `,${newLine()}`
      at++
    } else if (byte === COLON) {
      text += ": "
      at++
    } else {
      const end = byte === QUOTE ? endOfString(json, at + 1) : endOfScalar(json, at)
      const isName = json[skipSpace(json, end)] === COLON
      text += paint(styleOf(byte, isName), escapeControls(Buffer.from(json.subarray(at, end)).toString()))
      at = end
    }
  }
  return text
}

/** The end of a number or word. */
function endOfScalar(json: Uint8Array, at: number): number {
  const ends = (byte: number): boolean =>
    isSpace(byte) || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET
  while (at < json.length && !ends(json[at]!)) at++
  return at
}

function styleOf(first: number, isName: boolean): Style {
  if (first === QUOTE) return isName ? "blue" : "green"
  // t, f and n of the words
  return first >= 0x61 ? "magenta" : "yellow"
}
