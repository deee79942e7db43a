import { expect, test } from "bun:test"
import { atOnce } from "../clock/slices.ts"
import { History } from "./history.ts"
import { FIVE_MINUTES, STEP_MS } from "./pipeline-history.ts"

const START = 10_000 * STEP_MS

/** Counters of processes by pipeline and outcome, taken at the times that it is called with. */
function watched() {
  const history = new History(START)
  const counts = new Map<string, { [series: string]: number }>()
  return {
    history,
    take(afterMs: number, process: string, added: { [series: string]: number }): void {
      const counted = counts.getOrInsertComputed(process, () => ({}))
      for (const [series, count] of Object.entries(added)) counted[series] = (counted[series] ?? 0) + count
      const samples = [...counts].map(([name, all]) => ({
        process: name,
        events: Object.entries(all).map(([series, count]) => {
          const [pipeline = "", outcome = "", reason = ""] = series.split(" ")
          return { pipeline, outcome, reason, count }
        }),
        bounds: [0.1],
        latencies: [],
        notes: [],
      }))
      atOnce(history.take(samples, START + afterMs, afterMs))
    },
  }
}

test("rates are those of a minute, or of the time since the start, over all processes and pipelines", () => {
  const { history, take } = watched()
  take(0, "a", {})
  take(0, "b", {})
  take(20_000, "a", { "payments accepted": 100, "payments dropped duplicate": 40, "orders accepted": 20 })
  take(20_000, "b", { "payments accepted": 60, "payments rejected unverified_mismatch": 20 })
  expect(history.of("payments").rates()).toEqual({ accepted: 8, dropped: 2, refused: 1 })
  expect(history.total.rates()).toEqual({ accepted: 9, dropped: 2, refused: 1 })
  expect(history.of("unknown").rates()).toEqual({ accepted: 0, dropped: 0, refused: 0 })
  take(80_000, "a", { "payments accepted": 60 })
  expect(history.of("payments").rates()).toEqual({ accepted: 1, dropped: 0, refused: 0 })
})

test("series and sparklines have a gap, not zeros, before the start, also those of a pipeline without events", () => {
  const { history, take } = watched()
  take(0, "a", {})
  take(10 * STEP_MS, "a", { "payments accepted": 100, "payments dropped duplicate": 50 })
  for (const id of ["payments", "unknown"]) {
    const { accepted } = history.of(id).series()
    expect(accepted).toEqual([...Array.from({ length: 170 }, () => null), ...accepted.slice(170)])
    expect(accepted.slice(170)).toEqual(Array.from({ length: 10 }, () => (id === "payments" ? 2 : 0)))
    const sparkline = history.of(id).sparkline(60)
    expect(sparkline.filter((it) => it === null)).toHaveLength(56)
    expect(sparkline.slice(56)).toEqual(Array.from({ length: 4 }, () => (id === "payments" ? 2 : 0)))
  }
  expect(
    history
      .of("payments")
      .series()
      .dropped.map(({ reason }) => reason),
  ).toEqual(["duplicate"])
  expect(history.total.series().dropped[0]!.values.at(-1)).toBe(1)
  // the start is out of sight
  take(1000 * STEP_MS, "a", {})
  expect(history.of("unknown").series().accepted).not.toContain(null)
})

test("a pause breaks the habit of a pipeline that was watched for five minutes, and is one from its end on", () => {
  const { history, take } = watched()
  take(0, "a", {})
  const every = (ms: number, fromMs: number, untilMs: number): void => {
    for (let at = fromMs; at <= untilMs; at += ms) take(at, "a", { "payments accepted": 1 })
  }
  const broken = (afterMs: number): number | undefined => history.of("payments").brokenHabit(afterMs)
  every(10_000, 10_000, 300_000)
  expect(broken(10_000_000)).toBeUndefined()
  every(60_000, 360_000, 600_000)
  expect(broken(600_000 + 239_000)).toBeUndefined()
  expect(broken(600_000 + 241_000)).toBe(60_000)
  take(600_000 + 300_000, "a", { "payments rejected unverified_mismatch": 1 })
  expect(broken(600_000 + 300_000)).toBe(60_000)
  take(600_000 + 300_000, "a", { "payments accepted": 1 })
  expect(broken(600_000 + 301_000)).toBeUndefined()
  expect(broken(600_000 + 300_000 + 4 * 300_000)).toBeUndefined()
})

test("what is noted of requests is counted since the first sample, and forgotten after the minutes asked for", () => {
  const history = new History(START)
  const take = (afterMs: number, count: number): void => {
    const notes = [{ pipeline: "payments", note: "unanswered" as const, count }]
    const sample = { process: "a", events: [], bounds: [], latencies: [], notes }
    atOnce(history.take([sample], START + afterMs, afterMs))
  }
  take(0, 3)
  expect(history.of("payments").noted("unanswered", FIVE_MINUTES)).toBe(0)
  take(STEP_MS, 10)
  take(2 * STEP_MS, 10)
  expect(history.of("payments").noted("unanswered", FIVE_MINUTES)).toBe(7)
  expect(history.of("payments").noted("untrusted_proxy", FIVE_MINUTES)).toBe(0)
  take((FIVE_MINUTES + 3) * STEP_MS, 10)
  expect(history.of("payments").noted("unanswered", FIVE_MINUTES)).toBe(0)
})
