import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { lacks } from "./tools.ts"

/** A time of day for one process, which a test can set while the process runs. Its monotonic clock stays as it is. */
export interface MovableClock {
  /** What the process has to be started with. */
  readonly env: { readonly [name: string]: string }
  /** Sets the clock that many seconds off the machine's. */
  set(offsetS: number): void
}

/** Where Debian and Ubuntu put it. */
const LIBRARIES = ["x86_64", "aarch64"].map(
  (arch) => `/usr/lib/${arch}-linux-gnu/faketime/libfaketimeMT.so.1`,
)

/**
 * A clock by libfaketime (Debian's package libfaketime), in a file of a folder. Undefined where that is not installed,
 * which is said loudly, or is an error with CI set.
 */
export function movableClock(folder: string): MovableClock | undefined {
  const library = LIBRARIES.find((path) => existsSync(path))
  if (library === undefined) {
    lacks("no libfaketime", ["libfaketime"])
    return undefined
  }
  const file = join(folder, "clock")
  const set = (offsetS: number): void => writeFileSync(file, `${offsetS < 0 ? "" : "+"}${offsetS}\n`)
  set(0)
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      NO_FAKE_STAT: "1",
    },
    set,
  }
}
