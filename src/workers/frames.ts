// Hot path: every event on its way to a broker of the supervisor, and back, passes here.
import { packHeaders, unpackHeaders } from "../brokers/embedded-headers.ts"
import type { Receipt, Record } from "../record.ts"
import { FRAME_HEAD, newFrame } from "./wire.ts"

/*
 * What workers and the supervisor say on their wire, in little endian. A broker is told by its number.
 *
 * To the supervisor:
 *   records  time of sending (f64), then for each record
 *              its number (u32) | broker (u32) | deadline (f64) | timestamp (f64, NaN: none)
 *              bytes of: topic (u32), key (u32, 2^32 - 1: none), packed headers (u32), value (u32) | these
 *   topics   [broker, topics] as JSON: what `Broker.prepare` is given
 * To a worker:
 *   receipts for each record its number (u32) | partition (i32) | offset (f64)
 *   faults   [number, code, message] of records that were not acknowledged, as JSON
 * Both ways:
 *   ids      [name, id, until] of what a worker remembers, as JSON; the supervisor passes it on to the others
 *
 * Times are the worker's steady clock's, see clock-difference.ts; timestamps and `until` are of 1970.
 */
export const KINDS = { records: 1, topics: 2, receipts: 3, faults: 4, ids: 5 } as const

export type Fault = readonly [number: number, code: string, message: string]
export type Told = readonly [name: string, id: string, untilMs: number]

export interface Outgoing {
  readonly number: number
  readonly broker: number
  readonly record: Record
  readonly deadlineMs: number
}

const RECORD_HEAD = 40
const RECEIPT = 16
const NO_KEY = 0xff_ff_ff_ff

/** @param sentMs now, by the sender's steady clock */
export function recordsFrame(sentMs: number, all: readonly Outgoing[]): Buffer {
  const headers = all.map(({ record }) =>
    record.headers === undefined || record.headers.length === 0 ? NONE : packHeaders(record.headers),
  )
  let bytes = 8
  for (let i = 0; i < all.length; i++) bytes += RECORD_HEAD + bytesOf(all[i]!.record) + headers[i]!.length
  const frame = newFrame(KINDS.records, bytes)
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length)
  let at = FRAME_HEAD
  view.setFloat64(at, sentMs, true)
  at += 8
  for (let i = 0; i < all.length; i++) {
    const { number, broker, record, deadlineMs } = all[i]!
    const { topic, key, value, timestampMs } = record
    view.setUint32(at, number, true)
    view.setUint32(at + 4, broker, true)
    view.setFloat64(at + 8, deadlineMs, true)
    view.setFloat64(at + 16, timestampMs ?? Number.NaN, true)
    view.setUint32(at + 24, topic.length, true)
    view.setUint32(at + 28, key === undefined ? NO_KEY : key.length, true)
    view.setUint32(at + 32, headers[i]!.length, true)
    view.setUint32(at + 36, value.length, true)
    at += RECORD_HEAD
    at += frame.write(topic, at, "latin1")
    for (const part of [key ?? NONE, headers[i]!, value]) {
      frame.set(part, at)
      at += part.length
    }
  }
  return frame
}

/** Reads a frame of records. Their bytes are the frame's. */
export function readRecords(
  frame: Buffer,
  take: (one: Outgoing) => void,
  sentAt: (sentMs: number) => void,
): void {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length)
  let at = FRAME_HEAD
  sentAt(view.getFloat64(at, true))
  at += 8
  while (at < frame.length) {
    const number = view.getUint32(at, true)
    const broker = view.getUint32(at + 4, true)
    const deadlineMs = view.getFloat64(at + 8, true)
    const timestampMs = view.getFloat64(at + 16, true)
    const topicEnd = at + RECORD_HEAD + view.getUint32(at + 24, true)
    const keyBytes = view.getUint32(at + 28, true)
    const keyEnd = keyBytes === NO_KEY ? topicEnd : topicEnd + keyBytes
    const headersEnd = keyEnd + view.getUint32(at + 32, true)
    const end = headersEnd + view.getUint32(at + 36, true)
    const record = {
      topic: frame.toString("latin1", at + RECORD_HEAD, topicEnd),
      key: keyBytes === NO_KEY ? undefined : frame.subarray(topicEnd, keyEnd),
      value: frame.subarray(headersEnd, end),
      headers: headersEnd === keyEnd ? undefined : unpackHeaders(frame.subarray(keyEnd, headersEnd)),
      timestampMs: Number.isNaN(timestampMs) ? undefined : timestampMs,
    }
    at = end
    take({ number, broker, deadlineMs, record })
  }
}

export interface Answer {
  readonly number: number
  readonly receipt: Receipt
}

export function receiptsFrame(answers: readonly Answer[]): Buffer {
  const frame = newFrame(KINDS.receipts, answers.length * RECEIPT)
  let at = FRAME_HEAD
  for (const { number, receipt } of answers) {
    frame.writeUInt32LE(number, at)
    frame.writeInt32LE(receipt.partition, at + 4)
    frame.writeDoubleLE(receipt.offset, at + 8)
    at += RECEIPT
  }
  return frame
}

export function readReceipts(frame: Buffer, take: (number: number, receipt: Receipt) => void): void {
  for (let at = FRAME_HEAD; at < frame.length; at += RECEIPT) {
    take(frame.readUInt32LE(at), { partition: frame.readInt32LE(at + 4), offset: frame.readDoubleLE(at + 8) })
  }
}

const NONE = new Uint8Array()

/** Of what a record's frame holds beside its head and headers. Topics have ASCII names alone. */
export const bytesOf = ({ topic, key, value }: Record): number =>
  topic.length + (key?.length ?? 0) + value.length
