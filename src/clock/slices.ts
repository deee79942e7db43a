/** Work in steps of well under a millisecond, to run at once or in slices. */
export type Steps<T> = Generator<undefined, T, undefined>

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
export const nextTurn = (): Promise<void> => new Promise(setImmediate)

const STEP_ELEMENTS = 8

/** Runs the work without a pause. */
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
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    const over = slice()
    if (over === undefined) continue
    await over
    if (signal?.aborted === true) {
      // runs the `finally` and `using` of the work
      steps.return(undefined as never)
      throw signal.reason
    }
  }
}
