import { describe, expect, test } from "bun:test"
import { ROUNDS, SEEDS } from "../simulation/storage/call-by-call.ts"
import { simulate } from "../simulation/workers.ts"
import { canModelDisks } from "../support/disk-model.ts"
import { isFull } from "../support/fault-table.ts"

const TO = 1 + SEEDS * (isFull ? ROUNDS : 1)

/** That the model does lose what no fsync covers is shown by the mutations of the log's recovery. */
describe.skipIf(!canModelDisks())("the n-th write, truncation or fsync fails, then the power:", () => {
  test.each([
    ["log", "embedded log"],
    ["spool", "spool"],
    ["dedupe", "Deduplicator's file"],
  ])(
    "%s: nothing acknowledged is lost, and the file is whole",
    async (name) => {
      const { runs, failures } = await simulate({ simulation: `${name}, call by call`, to: TO })
      expect(failures.map(({ seed, history }) => `seed ${seed}\n${history}`)).toEqual([])
      expect(runs).toBe(TO - 1)
    },
    isFull ? 3_600_000 : 300_000,
  )

  // each in the round whose failures, by their number, show it
  test.each([
    ["the WAL is rewritten before a file that failed is opened", 0],
    ["the WAL is kept where a checkpoint's pages may not be durable", 3],
  ])("a log whose recovery lacks this loses events: %s", async (mutation, round) => {
    const from = 1 + round * SEEDS
    const { failures } = await simulate({ simulation: "log, call by call", from, to: from + SEEDS, mutation })
    expect(failures).not.toEqual([])
  })
})
