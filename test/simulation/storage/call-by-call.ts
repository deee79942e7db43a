import type { Simulation } from "../simulation.ts"
import { TOPICS, type Step, type StorageScenario } from "./scenario.ts"

/** Each of the first calls on a disk (write, truncation, fsync) is the one that fails. */
const CALLS = 200
/** How many fail: 2 is a commit's fsync and the one of the checkpoint when the file is closed; 20 last through reopening. */
const LENGTHS = [1, 2, 5, 3, 20]
const FROM = ["the start", "a checkpoint", "a checkpoint after one that a reader cut short"] as const
/** Seeds of one round: each call fails from each of these on, with another length in each round. */
export const SEEDS = CALLS * FROM.length
export const ROUNDS = LENGTHS.length

/** With the next record the WAL is carried over: see writer.ts, and key-database.ts for keys. */
const FILLING = { count: 20, bytes: 50_000, everyMs: 0 }
const FILLING_KEYS = { count: 1980, bytes: 10, everyMs: 0 }
const FILLED_MS = 110
const HEAL_MS = 3000

/** A simulation whose seeds are, in place of random faults, each call that can fail, then a power cut in the recovery and one after it. */
export const callByCall = (simulation: Simulation<StorageScenario>): Simulation<StorageScenario> => ({
  name: `${simulation.name}, call by call`,
  scenarioOf: (seed) => scenarioOf(simulation.name as StorageScenario["simulation"], seed),
  run: simulation.run,
})

function scenarioOf(simulation: StorageScenario["simulation"], seed: number): StorageScenario {
  const call = 1 + ((seed - 1) % CALLS)
  const from = FROM[Math.floor((seed - 1) / CALLS) % FROM.length]!
  const count = LENGTHS[(call + Math.floor((seed - 1) / SEEDS)) % LENGTHS.length]!
  const filling = simulation === "dedupe" ? FILLING_KEYS : FILLING
  const before: Step[] = from === "the start" ? [] : [publish(0, filling)]
  if (from === FROM[2]) {
    // each record is a commit of its own
    const single = { ...FILLING, everyMs: 4 }
    before[0] = publish(0, single)
    // its snapshot is from before the record that has the WAL carried over; it leaves, or stays until it is in the way
    before.push({ atMs: FILLED_MS, do: "read", file: 0, forMs: call % 2 === 0 ? 40 : 1000 })
    before.push(publish(FILLED_MS + 1, { ...single, count: 3 }))
    before.push(publish(FILLED_MS + 50, { ...single, count: 18 }))
  }
  const atMs = from === "the start" ? -1 : from === FROM[2] ? 2.5 * FILLED_MS : FILLED_MS
  return {
    simulation,
    seed,
    settings: { partitions: 1, maxBytes: 1e9, keys: "file", timeoutMs: 1000 },
    healMs: HEAL_MS,
    steps: [
      ...before,
      { atMs, do: "fail", call, count },
      { atMs, do: "halt", call: 1 + ((call + count) % 12), ending: "power", forMs: 0 },
      publish(Math.max(atMs, 0) + 1, { count: 100, bytes: 300, everyMs: 10 }),
      publish(Math.max(atMs, 0) + 2, { count: 20, bytes: 40_000, everyMs: 50 }),
      { atMs: HEAL_MS - 300, do: "crash", kind: "power" },
    ],
  }
}

const publish = (atMs: number, records: { count: number; bytes: number; everyMs: number }): Step => ({
  atMs,
  do: "publish",
  topic: TOPICS[0]!,
  key: -1,
  timeoutMs: 1000,
  ...records,
})
