const START_MS = performance.timeOrigin

/**
 * Monotonic time in milliseconds, for deadlines, waits and durations. It starts from the time of day (since 1970) at the
 * start of the process and ignores later changes of the system clock.
 */
export const steadyMs = (): number => START_MS + performance.now()

/** Resolves after a time, at once when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener("abort", end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener("abort", end)
  })
}

/** A pause that doubles with each of `times` attempts that failed before. */
export const doubled = ({ first, longest }: { first: number; longest: number }, times: number): number =>
  Math.min(longest, first * 2 ** times)
