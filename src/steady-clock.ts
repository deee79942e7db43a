const START_MS = performance.timeOrigin

/**
 * The time, in milliseconds, on a clock that nobody sets: for deadlines, waits and durations. It counts from the time of
 * day at the start of the process, 1970 being 0, and goes on evenly from there, whatever becomes of `Date.now()`.
 */
export const steadyMs = (): number => START_MS + performance.now()
