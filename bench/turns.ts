/**
 * Loaded before Hookline (`bun --preload`): watches how long turns of its event loop take. SIGUSR2 begins; the next one
 * ends, and writes the longest turn between them, in milliseconds, to the file that BENCH_TURNS names. While it watches
 * the event loop never rests.
 */
import { renameSync, writeFileSync } from "node:fs"

let watching = false
let longestMs = 0

process.on("SIGUSR2", () => {
  if (watching) {
    watching = false
    const file = process.env.BENCH_TURNS!
    writeFileSync(`${file}.new`, String(longestMs))
    renameSync(`${file}.new`, file)
    return
  }
  watching = true
  longestMs = 0
  let lastMs = performance.now()
  const turn = (): void => {
    const nowMs = performance.now()
    longestMs = Math.max(longestMs, nowMs - lastMs)
    lastMs = nowMs
    if (watching) setImmediate(turn)
  }
  setImmediate(turn)
})
