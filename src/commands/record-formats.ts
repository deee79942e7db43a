import { isUtf8 } from "node:buffer"
import type { StoredRecord } from "../brokers/broker.ts"
import { startOfText } from "../json/tokens.ts"
import { isJson } from "../json/check.ts"
import { escapeControls } from "../telemetry/escape-controls.ts"

export const RECORD_FORMATS = ["pretty", "value", "json", "raw"] as const
export type RecordFormat = (typeof RECORD_FORMATS)[number]

/** Whether a time can be written as a date; producers choose it. */
export const isDate = (ms: number): boolean => Math.abs(ms) < LATEST_DATE_MS
/** A day before the last that a Date can have, for local time. */
const LATEST_DATE_MS = 8.64e15 - 86_400_000

const NEWLINE = Buffer.from("\n")

/** The value's bytes and a newline. */
export const toRaw = ({ value }: StoredRecord): Uint8Array => Buffer.concat([value, NEWLINE])

/** The value, control characters escaped as in JSON, and a newline. */
export function toValue(record: StoredRecord): string | Uint8Array {
  const text = textOf(record.value)
  const escaped = escapeControls(text)
  return escaped === text && isUtf8(record.value) ? toRaw(record) : `${escaped}\n`
}

/**
 * A record as one line of JSON. A value that is JSON is spliced in as it is, but for line breaks between its tokens, which
 * become spaces, and control characters, which are escaped; another one is `value_text` or, not in UTF-8, `value_base64`.
 *
 * @param more further members, before the value
 */
export function toJsonLine(
  { topic, partition, offset, timestampMs, key, headers, value }: StoredRecord,
  more: { readonly [name: string]: unknown } = {},
): string {
  const timestamp = isDate(timestampMs) ? new Date(timestampMs).toISOString() : null
  const members = [
    toMembers({ topic, partition, offset, timestamp }),
    key === undefined ? toMembers({ key: null }) : bytesAs("key", key),
    toMembers({
      headers: headers.map(([name, bytes]) => [
        name,
        isUtf8(bytes) ? textOf(bytes) : { base64: toBase64(bytes) },
      ]),
      ...more,
    }),
    isJson(value)
      ? `"value":${textOf(value.subarray(startOfText(value))).replace(/[\r\n]/g, " ")}`
      : bytesAs(isUtf8(value) ? "value_text" : "value", value),
  ]
  return `${escapeControls(`{${members.join(",")}}`)}\n`
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64")

const toMembers = (members: object): string => JSON.stringify(members).slice(1, -1)

/** A member of a text, or `name_base64` where the bytes are not UTF-8. */
const bytesAs = (name: string, bytes: Uint8Array): string =>
  toMembers(isUtf8(bytes) ? { [name]: textOf(bytes) } : { [`${name}_base64`]: toBase64(bytes) })
