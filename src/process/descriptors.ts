import { readdirSync, statSync } from "node:fs"
import { repeat, steadyMs } from "../clock/clock.ts"
import { limitOf } from "./limits.ts"

/*
 * The descriptors of this process, which connections of three kinds share. None may take them all:
 *
 *   webhooks   are accepted until the reserve is reached (http/connection-limit.ts).
 *   Kafka      clients are accepted while fewer than half of the descriptors are open.
 *   admin      connections are all closed below the point where webhooks are refused: Bun has no hook for accepted
 *              connections, and neither closes nor counts those that do not complete a request.
 */

/** Held open, and closed when the others are used up: for probes, log files, broker connections. */
export const SPARE = 24
/** Between two checks: short where few descriptors are left for connections that are accepted meanwhile. */
const SHORTEST_CHECK_MS = 25
const LONGEST_CHECK_MS = 100
/** Connections that a client on the same machine can open. */
const ACCEPTED_PER_MS = 50
/** On Linux before 6.2, where counting 10,000 descriptors takes 9 ms. */
const COSTLY_CHECK_MS = 250
/** Share of what webhook connections may have; all of it would have their listeners closed. */
const SCARCE = 0.75
/** Closing connections that frees fewer is not repeated for a while: others have the descriptors. */
const FEW = 8
const PAUSE_MS = 10_000

/** Descriptors that webhook connections leave to others. */
export const reservedDescriptors = (limit: number): number => SPARE + Math.min(512, Math.ceil(limit / 8))

const closers = new Set<() => void>()
/** Descriptors that were open before any connection. */
let before = 0
let pausedUntilMs = Number.NEGATIVE_INFINITY

/** Has connections closed when descriptors become scarce. @param close at once. @returns ends the watch */
export function whenScarce(close: () => void): () => void {
  const soft = descriptorLimit()
  if (soft === undefined) return () => undefined
  if (closers.size === 0) before = openDescriptors()
  closers.add(close)
  const checkMs = ((1 - SCARCE) * roomOf(soft)) / ACCEPTED_PER_MS
  const everyMs = Math.min(Math.max(checkMs, SHORTEST_CHECK_MS), LONGEST_CHECK_MS)
  const endChecks = repeat(sizeOfFolder() > 0 ? everyMs : COSTLY_CHECK_MS, relieve)
  return () => {
    endChecks()
    closers.delete(close)
  }
}

/** If descriptors are scarce, closes the connections of `whenScarce`, unless that has just freed next to none. */
export function relieve(): void {
  const soft = descriptorLimit()
  if (soft === undefined || steadyMs() < pausedUntilMs) return
  const open = openDescriptors()
  if (open < before + SCARCE * roomOf(soft)) return
  for (const close of closers) close()
  if (open - openDescriptors() < FEW) pausedUntilMs = steadyMs() + PAUSE_MS
}

/** Descriptors that connections may have. */
const roomOf = (soft: number): number => soft - reservedDescriptors(soft) - before

/** This process's limit of open descriptors; undefined: unknown. Read once, while there is one to read it by. */
export const descriptorLimit = (): number | undefined => (limit ??= { soft: limitOf("Max open files") }).soft

let limit: { readonly soft: number | undefined } | undefined

/** Open descriptors. 1 us and no descriptor on Linux 6.2 and later; lists all of them before that. */
export function openDescriptors(): number {
  const size = sizeOfFolder()
  if (size > 0) return size
  try {
    // includes the one used to list them
    return readdirSync("/proc/self/fd").length - 1
  } catch (error) {
    if (isExhausted(error)) return Number.POSITIVE_INFINITY
    throw error
  }
}

/** Open descriptors on Linux 6.2 and later, else 0. */
const sizeOfFolder = (): number => statSync("/proc/self/fd").size

export const isExhausted = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "EMFILE"
