/** How late a deadline may be noticed. */
const SWEEP_MS = 10

/**
 * Checks deadlines every few milliseconds while anything has one.
 *
 * @param expire rejects what is past its deadline; returns whether anything is left
 * @returns to be called when something with a deadline was added
 */
export function sweepDeadlines(expire: () => boolean): () => void {
  let timer: Timer | undefined
  const start = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined
      if (expire()) start()
    }, SWEEP_MS)
  }
  return start
}
