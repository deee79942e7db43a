import { expect, test } from "bun:test"
import { Epochs } from "./embedded/log-epochs.ts"
import { disagreement, type LogPartition, type LogPlace } from "./log-place.ts"

const ids = { clusterId: "log", topicId: "topic" }

/** A log with epochs that begin at these offsets. */
function logOf(starts: { readonly [epoch: number]: number }, end: number): LogPartition {
  const rows = Object.entries(starts).map(([epoch, start]) => ({
    epoch: Number(epoch),
    starts: { r: start },
  }))
  return { ...ids, end, epochs: new Epochs(rows).of("r") }
}

const placeAt = (offset: number, number: number, start: number): LogPlace => ({
  ...ids,
  offset,
  epoch: { number, start },
})

const earlier = (offset: number | undefined) => ({ kind: "an earlier copy", offset }) as const

test.each([
  ["the log as it was", placeAt(60, 5, 0), logOf({ 5: 0 }, 60), undefined],
  ["a log that goes on in another epoch", placeAt(60, 5, 0), logOf({ 5: 0, 9: 60 }, 80), undefined],
  ["a shorter copy", placeAt(100, 5, 0), logOf({ 5: 0 }, 60), earlier(60)],
  ["a copy that has grown past the place", placeAt(100, 5, 0), logOf({ 5: 0, 9: 60 }, 140), earlier(60)],
  ["a copy of before the epoch began", placeAt(100, 7, 60), logOf({ 5: 0, 9: 60 }, 140), earlier(60)],
  ["the same, without a record of its own yet", placeAt(100, 7, 80), logOf({ 5: 0 }, 60), earlier(60)],
  [
    "the original in the place of a copy",
    placeAt(65, 9, 50),
    logOf({ 5: 0, 7: 50, 11: 80 }, 90),
    earlier(50),
  ],
  ["a log that has deleted the epoch", placeAt(20, 5, 0), logOf({ 9: 60 }, 80), undefined],
  ["a copy that has deleted what it had in common", placeAt(100, 7, 60), logOf({ 9: 60 }, 140), earlier(60)],
  ["a place without an epoch", { ...ids, offset: 60, epoch: undefined }, logOf({ 5: 0 }, 60), undefined],
  [
    "the same, beyond the end",
    { ...ids, offset: 61, epoch: undefined },
    logOf({ 5: 0 }, 60),
    earlier(undefined),
  ],
  ["a log without epochs", { offset: 5, epoch: undefined }, { end: 9, epochs: undefined }, undefined],
  [
    "another log",
    { ...placeAt(6, 5, 0), clusterId: "other" },
    logOf({ 5: 0 }, 60),
    { kind: "another log", offset: 0 },
  ],
  [
    "another topic",
    { ...placeAt(6, 5, 0), topicId: "other" },
    logOf({ 5: 0 }, 60),
    { kind: "another topic", offset: 0 },
  ],
] as const)("a place and %s", (_, place, log, found) => {
  expect(disagreement(place, log)).toEqual(found)
})
