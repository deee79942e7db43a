/*
 * Protobuf's binary form: https://protobuf.dev/programming-guides/encoding/. A message is its fields in any order, each a tag
 * (8 * number + wire type) and a value; a field that is left out has its default. What is written is a string with a
 * character, up to U+00FF, for each byte: strings are put together without a copy.
 */

const VARINT = 0
const FIXED64 = 1
const LENGTH_DELIMITED = 2
const FIXED32 = 5
/** @param value a whole number from 0 */
const varint = (value: number): string =>
  value < 0x80
    ? String.fromCharCode(value)
    : String.fromCharCode(0x80 + (value % 0x80)) + varint(Math.floor(value / 0x80))

/** An enumeration, a boolean as 0 or 1, or any other integer from 0. */
export const varintField = (number: number, value: number): string =>
  varint(8 * number + VARINT) + varint(value)

/** A value of four or eight bytes; the machines that Bun runs on have them in the order that protobuf has. */
export const fixedField = (number: number, value: Uint32Array | BigUint64Array | Float64Array): string =>
  varint(8 * number + (value.byteLength === 4 ? FIXED32 : FIXED64)) +
  Buffer.from(value.buffer).toString("latin1")

const bytesField = (number: number, value: string): string =>
  varint(8 * number + LENGTH_DELIMITED) + varint(value.length) + value
export const hexField = (number: number, value: string): string =>
  bytesField(number, Buffer.from(value, "hex").toString("latin1"))
export const textField = (number: number, value: string): string =>
  bytesField(
    number,
    Buffer.byteLength(value) === value.length ? value : Buffer.from(value).toString("latin1"),
  )
export const messageField = (number: number, fields: readonly string[]): string =>
  bytesField(number, fields.join(""))

/** The integers and the bytes of a message by the numbers of their fields, the last of each; undefined: it is no message. */
export function readMessage(message: Uint8Array): Map<number, number | Uint8Array> | undefined {
  let at = 0
  const readVarint = (): number => {
    for (let value = 0, weight = 1; ; weight *= 0x80) {
      const group = message[at++]
      if (group === undefined || weight > MOST_WEIGHT) return Number.NaN
      value += (group & 0x7f) * weight
      if (group < 0x80) return value
    }
  }
  const fields = new Map<number, number | Uint8Array>()
  while (at < message.length) {
    const tag = readVarint()
    const [number, wireType] = [Math.floor(tag / 8), tag % 8]
    if (wireType === VARINT) fields.set(number, readVarint())
    else if (wireType === FIXED64) at += 8
    else if (wireType === FIXED32) at += 4
    else if (wireType === LENGTH_DELIMITED) {
      const length = readVarint()
      fields.set(number, message.subarray(at, (at += length)))
    } else return undefined
    if (!(at <= message.length) || Number.isNaN(fields.get(number))) return undefined
  }
  return fields
}

/** Of the last of ten groups of seven bits. */
const MOST_WEIGHT = 0x80 ** 9
