import { writeSync } from "node:fs"
import { FAILURES, GIVEN, positionIn, WRITTEN, type SharedLines } from "./line-writer.ts"

declare const self: Worker

/** PIPE_BUF: several processes may write to one pipe, and what is written at once up to here stays together. */
const ATOMIC_BYTES = 4096
/** The wait for a full pipe whose other writers have set O_NONBLOCK, which all of them share. */
const FULL_PIPE_MS = 5
/** The wait after a failure: a full disk may get space, a closed terminal or pipe is not worth more. */
const RETRY_MS = 500

/** The program of a LineWriter's thread: writes what is given, for as long as the process runs. */
self.addEventListener("message", ({ data }: MessageEvent<SharedLines>) => {
  const { fd, state } = data
  for (;;) {
    const written = Atomics.load(state, WRITTEN)
    const given = Atomics.load(state, GIVEN)
    if (given === written) {
      Atomics.wait(state, GIVEN, given)
      continue
    }
    try {
      const length = writeSync(fd, linesAt(data.bytes, written, (given - written) | 0))
      Atomics.store(state, WRITTEN, (written + length) | 0)
      Atomics.notify(state, WRITTEN)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") Bun.sleepSync(FULL_PIPE_MS)
      else {
        const failures = Atomics.add(state, FAILURES, 1) + 1
        Atomics.notify(state, WRITTEN)
        Atomics.wait(state, FAILURES, failures, RETRY_MS)
      }
    }
  }
})

/** The lines that are written at once: whole ones up to ATOMIC_BYTES, or one that is longer. */
function linesAt(bytes: Uint8Array, position: number, waiting: number): Uint8Array {
  const short = copy(bytes, position, Math.min(waiting, ATOMIC_BYTES))
  const end = short.lastIndexOf(NEWLINE) + 1
  if (end > 0) return short.subarray(0, end)
  const all = copy(bytes, position, waiting)
  return all.subarray(0, all.indexOf(NEWLINE) + 1 || all.length)
}

/** A copy, since the bytes may continue from the end of the memory to its beginning. */
function copy(bytes: Uint8Array, position: number, length: number): Uint8Array {
  const at = positionIn(bytes, position)
  const first = bytes.subarray(at, at + length)
  return Buffer.concat([first, bytes.subarray(0, length - first.length)])
}

const NEWLINE = 10
