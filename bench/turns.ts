/**
 * Loaded before Hookline (`bun --preload`): watches how long turns of its event loop take. SIGUSR2 begins; the next one
 * ends, and writes the longest turn between them to the file that BENCH_TURNS names, in milliseconds: by the clock, and, of
 * the one that took the most, the processor's time, which is free of what else ran on the machine. While it watches the
 * event loop never rests.
 */
import { renameSync, writeFileSync } from "node:fs"

let watching = false
let longest = { ms: 0, cpuMs: 0 }
let last = { ms: 0, cpuMs: 0 }

const now = (): typeof last => {
  const { user, system } = process.threadCpuUsage()
  return { ms: performance.now(), cpuMs: (user + system) / 1000 }
}

function turned(): void {
  const { ms, cpuMs } = now()
  longest = { ms: Math.max(longest.ms, ms - last.ms), cpuMs: Math.max(longest.cpuMs, cpuMs - last.cpuMs) }
  last = { ms, cpuMs }
}

function turn(): void {
  if (!watching) return
  turned()
  setImmediate(turn)
}

process.on("SIGUSR2", () => {
  if (watching) {
    // the turn that the signal ends counts
    turned()
    watching = false
    const file = process.env.BENCH_TURNS!
    writeFileSync(`${file}.new`, JSON.stringify(longest))
    renameSync(`${file}.new`, file)
    return
  }
  watching = true
  longest = { ms: 0, cpuMs: 0 }
  last = now()
  setImmediate(turn)
})
