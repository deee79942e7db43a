import { closeSync, openSync, writeFileSync, writeSync } from "node:fs"
import { join } from "node:path"
import type { MovableClock } from "../support/movable-clock.ts"

const NS_PER_S = 1_000_000_000n

/** Compiles what sets clocks into a folder. @returns the library, for `openClock` */
export function compileClock(folder: string): string {
  const library = join(folder, "clock-offset.so")
  const source = join(import.meta.dir, "clock-offset.c")
  const flags = ["-std=gnu11", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"]
  const { success, stderr } = Bun.spawnSync(["cc", ...flags])
  if (!success) throw new Error(`clock-offset.c can't be compiled: ${stderr.toString()}`)
  return library
}

/** A time of day for one process, in a file. Unlike libfaketime's it does not slow a JVM down. */
export function openClock(library: string, file: string): MovableClock {
  writeFileSync(file, new BigInt64Array(1))
  return {
    env: { LD_PRELOAD: library, HOOKLINE_CLOCK_OFFSET: file },
    set(offsetS) {
      // The file is mapped, so that it may not be shortened meanwhile.
      const descriptor = openSync(file, "r+")
      writeSync(descriptor, new BigInt64Array([BigInt(offsetS) * NS_PER_S]), 0, 8, 0)
      closeSync(descriptor)
    },
  }
}
