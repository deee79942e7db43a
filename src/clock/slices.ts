/**
 * Work in steps of well under a millisecond, to run at once or in slices. Between steps it may yield a wait, which is left
 * out where it runs at once; one that rejects throws in the work.
 */
export type Steps<T> = Generator<Wait | undefined, T, undefined>

type Wait = () => Promise<void>

/** Milliseconds that a slice blocks the event loop, plus its last step. */
const SLICE_MS = 5

/** @returns lets other work of the event loop run, where the slice that began with it is over; undefined: it is not */
export function slices(): () => Promise<void> | undefined {
  let endsMs = performance.now() + SLICE_MS
  const next = async (): Promise<void> => {
    await nextTurn()
    endsMs = performance.now() + SLICE_MS
  }
  return () => (performance.now() < endsMs ? undefined : next())
}

/** Maps a list, a few elements a step. */
export function* inSteps<T, R>(all: Iterable<T>, make: (one: T) => R): Steps<R[]> {
  const made: R[] = []
  for (const one of all) if (made.push(make(one)) % STEP_ELEMENTS === 0) yield
  return made
}

/** Lets other work of the event loop run. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => soon(resolve))

type Soon = (callback: () => void) => unknown
/** Browsers have no setImmediate. */
const soon = (globalThis as { readonly setImmediate?: Soon }).setImmediate ?? (setTimeout as Soon)

const STEP_ELEMENTS = 8

/** Runs the work without a pause or wait. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/**
 * Runs the work in slices, yielding to the event loop between them. The promise resolves in the turn of the last slice.
 *
 * @param signal ends the work between two slices and throws its reason
 */
export async function inSlices<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
  const slice = slices()
  let result = steps.next()
  for (;;) {
    if (result.done === true) return result.value
    const over = result.value === undefined ? slice() : outcomeOf(result.value, signal)
    const failure = over === undefined ? undefined : await over
    if (signal?.aborted === true) {
      // runs the `finally` and `using` of the work
      steps.return(undefined as never)
      throw signal.reason
    }
    result = failure === undefined ? steps.next() : steps.throw(failure.error)
  }
}

/** Waits, until the signal at most. @returns what it was rejected with */
async function outcomeOf(wait: Wait, signal: AbortSignal | undefined): Promise<{ error: unknown } | void> {
  const { promise: aborted, resolve: abort } = Promise.withResolvers<void>()
  const ended = (): void => abort()
  signal?.addEventListener("abort", ended, { once: true })
  try {
    await Promise.race([wait(), aborted])
  } catch (error) {
    return { error }
  } finally {
    signal?.removeEventListener("abort", ended)
  }
}
