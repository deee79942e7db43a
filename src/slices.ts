/** Work in steps of well under a millisecond, between which it can stand still: done at once, or in slices. */
export type Steps<T> = Generator<undefined, T, undefined>

/** How long a slice holds the event loop; with its last step, a little longer. */
const SLICE_MS = 5

/** Does the work without a pause. Throws what it throws. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/**
 * Does the work in slices, between which the event loop has its turn, so that requests are answered meanwhile. Whoever
 * awaits it goes on in the turn of the last slice. Throws what the work throws.
 *
 * @param signal ends the work between two slices; its reason is thrown then
 */
export async function inSlices<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
  let endsMs = performance.now() + SLICE_MS
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (performance.now() < endsMs) continue
    await new Promise(setImmediate)
    if (signal?.aborted === true) {
      // what the work has open in `finally` and `using` is closed
      steps.return(undefined as never)
      throw signal.reason
    }
    endsMs = performance.now() + SLICE_MS
  }
}
