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

/** Callbacks by their period, which share a timer: an idle process wakes up once for all of them. */
const repeated = new Map<number, { readonly timer: Timer; readonly callbacks: Set<() => void> }>()

/** Calls back again and again, which keeps no process running. @returns ends it */
export function repeat(everyMs: number, callback: () => void): () => void {
  const { timer, callbacks } = repeated.getOrInsertComputed(everyMs, () => {
    const all = new Set<() => void>()
    return { timer: setInterval(() => all.forEach((it) => it()), everyMs).unref(), callbacks: all }
  })
  // its own function: the same callback may be added twice
  const one = (): void => callback()
  callbacks.add(one)
  return () => {
    callbacks.delete(one)
    if (callbacks.size > 0 || repeated.get(everyMs)?.timer !== timer) return
    clearInterval(timer)
    repeated.delete(everyMs)
  }
}

/** Resolves when the signal aborts. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })
}

/**
 * Waits for a promise for a time at most; what the promise stands for continues.
 *
 * @param late called when the time is over: its value is the result, and what it throws is thrown
 */
export async function within<T, L>(ms: number, pending: Promise<T>, late: () => L): Promise<T | L> {
  const { promise: over, resolve } = Promise.withResolvers<typeof OVER>()
  const timer = setTimeout(resolve, Math.max(ms, 0), OVER)
  try {
    const first = await Promise.race([pending, over])
    return first === OVER ? late() : first
  } finally {
    clearTimeout(timer)
  }
}

const OVER = Symbol("over")
