/**
 * A preload for Bun (`--preload`): the thread whose program HOOKLINE_TEST_CRASHES names throws once the file
 * HOOKLINE_TEST_CRASH_FILE is there, and removes it.
 */
import { existsSync, rmSync } from "node:fs"
import { isMainThread } from "node:worker_threads"

const { HOOKLINE_TEST_CRASHES: program = "", HOOKLINE_TEST_CRASH_FILE: file = "" } = process.env

if (isMainThread) {
  const Original = globalThis.Worker
  globalThis.Worker = class extends Original {
    constructor(url: string | URL, options?: WorkerOptions) {
      const preload = String(url).includes(program) ? [import.meta.path] : []
      super(url, { ...options, preload })
    }
  }
} else {
  setInterval(() => {
    if (!existsSync(file)) return
    rmSync(file)
    throw new Error("crashed for a test")
  }, 10)
}
