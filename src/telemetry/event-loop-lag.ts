const PERIOD_MS = 100

/** Observes, in seconds, by how much a timer is late. @returns ends it */
export function watchEventLoop(late: (seconds: number) => void): () => void {
  let dueMs = performance.now() + PERIOD_MS
  const timer = setInterval(() => {
    const nowMs = performance.now()
    late(Math.max(0, nowMs - dueMs) / 1000)
    dueMs = nowMs + PERIOD_MS
  }, PERIOD_MS)
  timer.unref()
  return () => clearInterval(timer)
}
