import { expect, test } from "bun:test"
import { pino } from "pino"
import { ProducerId } from "./epoch-and-sequence.ts"
import { PartitionSequence } from "./epoch-and-sequence.ts"

const PRODUCER = 7n

function started(): { sequence: PartitionSequence; resets: string[] } {
  const resets: string[] = []
  const log = pino({}, { write: (line) => void resets.push(JSON.parse(line).reason) })
  const producer = new ProducerId(log, { batch() {}, retried() {}, connected() {}, incident() {} }, () => {})
  producer.value = PRODUCER
  const sequence = new PartitionSequence(producer)
  sequence.next(PRODUCER)
  return { sequence, resets }
}

const placeOf = (sequence: PartitionSequence, producerId = PRODUCER): [epoch: number, base: number] => {
  const { producerEpoch, baseSequence } = sequence.next(producerId)
  return [producerEpoch, baseSequence]
}

test("a new log raises the epoch once, with the next batch, and takes offsets from 0 on", () => {
  const { sequence } = started()
  sequence.acknowledged(3, 100)
  sequence.expectNewLog()
  sequence.expectNewLog()
  expect(sequence.isBehind(0)).toBe(false)
  expect(placeOf(sequence)).toEqual([1, 0])
  expect(placeOf(sequence)).toEqual([1, 0])
})

test("an epoch raised for another reason is that of a new log too", () => {
  const { sequence } = started()
  sequence.expectNewLog()
  sequence.raiseEpoch()
  expect(placeOf(sequence)).toEqual([1, 0])
})

test("an offset up to that of the last acknowledged record is behind", () => {
  const { sequence } = started()
  expect(sequence.isBehind(0)).toBe(false)
  sequence.acknowledged(3, 100)
  expect([100, 102, 103, -1].map((offset) => sequence.isBehind(offset))).toEqual([true, true, false, false])
})

test("continues at 0 after the largest int32, as brokers count", () => {
  const { sequence } = started()
  sequence.acknowledged(2 ** 31 - 1, 0)
  expect(placeOf(sequence)).toEqual([0, 2 ** 31 - 1])
  sequence.acknowledged(1, 2 ** 31)
  expect(placeOf(sequence)).toEqual([0, 0])
})

test("asks for another producer id before the epochs run out", () => {
  const { sequence, resets } = started()
  for (let n = 0; n < 32_000; n++) sequence.raiseEpoch()
  expect(resets).toEqual([])
  sequence.raiseEpoch()
  expect(resets).toEqual(["epochs exhausted"])
  expect(placeOf(sequence)[0]).toBeLessThan(2 ** 15)
})
