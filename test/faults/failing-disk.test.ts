import { afterAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { compileDiskModel, type Kept } from "../support/disk-model.ts"
import type { Kind, Outcome, Trial } from "../support/disk-trials.ts"
import { isFull, report } from "../support/fault-table.ts"
import { temporaryFolder } from "../support/hookline.ts"

/** Each of the first calls on a disk is the one that fails. */
const CALLS = 200
/** How many fail: 2 is a commit's fsync and the one of the checkpoint when the file is closed; 20 last through reopening. */
const LENGTHS = isFull ? [1, 2, 3, 5, 20] : [1, 2, 5]
const ROUNDS = isFull ? 2 : 1
/** With a reader, the calls about the end of the checkpoint behind the one that was cut short. */
const AT_CHECKPOINT = { first: 60, last: 110 }

const folder = temporaryFolder()
const library = compileDiskModel(folder.path)
afterAll(() => folder[Symbol.dispose]())

/** At the end of a trial nothing is kept but what is durable; before that the power goes at some moment of the recovery. */
function cutsOf(n: number, calls: number, round: number): Trial["cuts"] {
  const kept: Kept[] = ["none", "some", "all"]
  const offsets = isFull ? [0, 2, 4, 7, 12] : [1 + (n % 4), 5 + (n % 7)]
  return offsets.map((offset, at) => ({ after: calls + offset, kept: kept[(n + at + round) % 3]! }))
}

function trialsOf(kind: Kind): Trial[] {
  const trials: Trial[] = []
  for (let n = 1; n <= CALLS; n++) {
    for (let round = 0; round < ROUNDS; round++) {
      for (const from of ["start", "running"] as const) {
        // in the short form each call fails with one of the lengths
        const lengths = isFull ? LENGTHS : [LENGTHS[(from === "start" ? n : n + 1) % LENGTHS.length]!]
        for (const calls of lengths)
          trials.push({ kind, from, n, calls, cuts: cutsOf(n, calls, round), seed: n + 1000 * round })
      }
    }
  }
  return trials
}

async function run(trials: readonly Trial[]): Promise<Outcome[]> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "../support/disk-trials.ts")], {
    env: { ...process.env, LD_PRELOAD: library! },
    stdin: Buffer.from(trials.map((trial) => `${JSON.stringify(trial)}\n`).join("")),
    stdout: "pipe",
    stderr: "inherit",
  })
  const lines = (await new Response(child.stdout).text()).trimEnd().split("\n")
  expect(await child.exited).toBe(0)
  return lines.map((line) => JSON.parse(line) as Outcome)
}

const sum = (outcomes: readonly Outcome[], of: (outcome: Outcome) => number): number =>
  outcomes.reduce((total, outcome) => total + of(outcome), 0)

/** Whatever is wrong, with the trial that shows it. */
const wrong = (outcomes: readonly Outcome[]): Outcome[] =>
  outcomes.filter(({ lost, complaints }) => lost > 0 || complaints.length > 0)

async function expectKept(trials: readonly Trial[], scenario: string): Promise<void> {
  const outcomes = await run(trials)
  const longestWaitMs = Math.max(...outcomes.map((outcome) => outcome.longestWaitMs))
  report(scenario, {
    sent: sum(outcomes, ({ sent }) => sent),
    acknowledged: sum(outcomes, ({ acknowledged }) => acknowledged),
    found: sum(outcomes, ({ found }) => found),
    lost: sum(outcomes, ({ lost }) => lost),
    // a record's number is its place in the log, checked in each trial
    doubled: 0,
    disordered: 0,
    refusedAndFound: 0,
    unansweredAndFound: 0,
    unanswered: 0,
    longestWaitMs,
    longestOwnWaitMs: longestWaitMs,
  })
  expect(outcomes).toHaveLength(trials.length)
  expect(wrong(outcomes)).toEqual([])
  expect(outcomes.filter(({ trial, failed }) => failed !== trial.calls)).toEqual([])
}

describe.skipIf(library === undefined)("the n-th write or fsync fails, then the power:", () => {
  test("SQLite as it is loses what it had committed", async () => {
    const trials = trialsOf("bare").filter(({ n }) => n <= 40)
    expect(
      sum(await run(trials.map((trial) => ({ ...trial, calls: 2 }))), ({ lost }) => lost),
    ).toBeGreaterThan(0)
  }, 120_000)

  const kinds: [Kind, string][] = [
    ["log", "embedded log"],
    ["spool", "spool"],
    ["keys", "Deduplicator's file"],
  ]
  test.each(kinds)(
    "%s: nothing acknowledged is lost, and the file is whole",
    (kind, title) =>
      expectKept(trialsOf(kind), `disk: the n-th write or fsync fails, then the power (${title})`),
    isFull ? 3_600_000 : 120_000,
  )

  test("log: the same where a reader cut the checkpoint before it short", async () => {
    const trials: Trial[] = []
    for (let n = AT_CHECKPOINT.first; n <= AT_CHECKPOINT.last; n++) {
      for (const reader of ["leaves", "stays"] as const)
        trials.push({ kind: "log", from: "running", n, calls: 1, cuts: cutsOf(n, 1, 0), seed: n, reader })
    }
    await expectKept(trials, "disk: the same beside a reader (embedded log)")
  }, 120_000)
})
