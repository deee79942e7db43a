import { expect } from "bun:test"
import { isAcknowledged, type Posted } from "./numbered-senders.ts"

/** An event as the log has it. */
export interface Logged {
  readonly number: number
  readonly key: string | undefined
}

/** What a fault did to the events that were posted during it. */
export interface Findings {
  readonly sent: number
  readonly acknowledged: number
  /** Different events in the log. */
  readonly found: number
  /** Acknowledged, and not in the log. */
  readonly lost: number
  /** In the log once more than needed. */
  readonly doubled: number
  /** In the log after one of its key that was posted later. */
  readonly disordered: number
  /** Refused for good, with a 4xx, and in the log all the same. */
  readonly refusedAndFound: number
  /** Without an answer, and in the log: allowed only where Hookline itself is killed. */
  readonly unansweredAndFound: number
  /** Its sender saw the connection end. */
  readonly unanswered: number
  readonly longestWaitMs: number
  /** The longest wait, less the time for which the machine let neither the sender nor Hookline run. */
  readonly longestOwnWaitMs: number
}

/** The events among values of the log, in its order; other records are left out. */
export function eventsIn(values: Iterable<string>): Logged[] {
  const events: Logged[] = []
  for (const value of values) {
    const [, number, key] = /^\{"n":(\d+)(?:,"k":"(\w+)")?/.exec(value) ?? []
    if (number !== undefined) events.push({ number: Number(number), key })
  }
  return events
}

/** Each event where it came first: what is doubled after a later one of its key is in order all the same. */
export function firstsOf(logged: readonly Logged[]): Logged[] {
  const left = new Set(logged.map(({ number }) => number))
  return logged.filter(({ number }) => left.delete(number))
}

/** Compares what was answered with what the log has, which is in its order at least for each key. */
export function compare(posted: readonly Posted[], logged: readonly Logged[]): Findings {
  const there = new Set(logged.map(({ number }) => number))
  const acknowledged = posted.filter(isAcknowledged)
  return {
    sent: posted.length,
    acknowledged: acknowledged.length,
    found: there.size,
    lost: acknowledged.filter(({ number }) => !there.has(number)).length,
    doubled: logged.length - there.size,
    disordered: countDisordered(logged),
    refusedAndFound: posted.filter(
      ({ answer, number }) =>
        typeof answer === "number" && answer >= 400 && answer < 500 && there.has(number),
    ).length,
    unansweredAndFound: posted.filter(({ answer, number }) => typeof answer === "string" && there.has(number))
      .length,
    unanswered: posted.filter(({ answer }) => answer === "broken").length,
    longestWaitMs: longest(posted.map(({ startedMs, answeredMs }) => answeredMs - startedMs)),
    longestOwnWaitMs: longestOwnWaitMs(posted),
  }
}

/** The longest wait of some events that was not the machine's doing. */
export function longestOwnWaitMs(posted: readonly Posted[]): number {
  return longest(posted.map((it) => it.answeredMs - it.startedMs - it.withheldMs))
}

const longest = (waitsMs: readonly number[]): number => waitsMs.reduce((a, b) => Math.max(a, b), 0)

/** A sender posts the events of a key one after the other, so that their numbers rise. */
function countDisordered(logged: readonly Logged[]): number {
  const latest = new Map<string, number>()
  let count = 0
  for (const { key, number } of logged) {
    if (key === undefined) continue
    if (number < (latest.get(key) ?? -1)) count += 1
    else latest.set(key, number)
  }
  return count
}

/**
 * How much later than its deadline an event may be answered on a busy machine. That deadlines are kept to some milliseconds is
 * checked in the simulation's time (test/simulation).
 */
export const LATE_MS = 10_000

/** What is promised in every scenario. */
export function expectKept(findings: Findings, deliveryTimeoutMs: number): void {
  expect(findings).toMatchObject({ lost: 0, doubled: 0, disordered: 0, refusedAndFound: 0 })
  expect(findings.acknowledged).toBeGreaterThan(100)
  expect(findings.longestOwnWaitMs).toBeLessThan(deliveryTimeoutMs + LATE_MS)
}
