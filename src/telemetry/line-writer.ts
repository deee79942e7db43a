// Hot path: every line of the log is written here.
import { steadyMs } from "../clock/clock.ts"
import { threadUrl } from "../process/thread-url.ts"

/**
 * The memory that a writer shares with its thread. The byte of a position lies at the position modulo CAPACITY_BYTES;
 * positions wrap around at 2^32.
 */
export interface SharedLines {
  readonly fd: number
  readonly bytes: Uint8Array
  /** By GIVEN and WRITTEN: the position after the last byte given and written. By FAILURES: how many writes failed. */
  readonly state: Int32Array
}
export const GIVEN = 0
export const WRITTEN = 1
export const FAILURES = 2

/** Bytes of lines that wait; a power of two. */
const CAPACITY_BYTES = 1024 * 1024
/** How long the end of the process waits for a reader that is slow, or has stalled. */
const FLUSH_MS = 2000

/**
 * Writes lines to a descriptor, in order, in a thread: on a pipe that nobody reads, a terminal that is stopped, a disk that
 * hangs, write(2) blocks that thread alone, and what it can't write it tries again. It never blocks the caller, but for the
 * bounded flush at the end of the process, and never throws. A line costs the caller 2 us; write(2) took 6.
 */
export class LineWriter {
  readonly #bytes = new Uint8Array(new SharedArrayBuffer(CAPACITY_BYTES))
  readonly #state = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT))
  readonly #encoder = new TextEncoder()
  #given = 0

  constructor(fd: number) {
    const thread = new Worker(threadUrl("./line-writer-thread", import.meta), { smol: true })
    thread.unref()
    const shared: SharedLines = { fd, bytes: this.#bytes, state: this.#state }
    thread.postMessage(shared, [])
    process.on("exit", () => void this.flush())
  }

  get isHalfEmpty(): boolean {
    return this.#waiting() <= CAPACITY_BYTES / 2
  }

  /** Takes a line to be written soon. @returns false: too many bytes wait, the line is not taken */
  write(line: string): boolean {
    const bytes = this.#encoder.encode(line)
    if (bytes.length > CAPACITY_BYTES - this.#waiting()) return false
    const at = positionIn(this.#bytes, this.#given)
    const first = bytes.subarray(0, CAPACITY_BYTES - at)
    this.#bytes.set(first, at)
    this.#bytes.set(bytes.subarray(first.length), 0)
    this.#given = (this.#given + bytes.length) | 0
    Atomics.store(this.#state, GIVEN, this.#given)
    Atomics.notify(this.#state, GIVEN)
    return true
  }

  /** Waits, blocking, while lines are being written, FLUSH_MS at most. @returns whether all of them are */
  flush(): boolean {
    const untilMs = steadyMs() + FLUSH_MS
    const failures = Atomics.load(this.#state, FAILURES)
    // it may be in its pause after one
    Atomics.notify(this.#state, FAILURES)
    for (;;) {
      const written = Atomics.load(this.#state, WRITTEN)
      if (written === this.#given) return true
      const leftMs = untilMs - steadyMs()
      if (leftMs <= 0 || Atomics.load(this.#state, FAILURES) !== failures) return false
      Atomics.wait(this.#state, WRITTEN, written, leftMs)
    }
  }

  #waiting(): number {
    return (this.#given - Atomics.load(this.#state, WRITTEN)) | 0
  }
}

export const positionIn = ({ length }: Uint8Array, position: number): number => position & (length - 1)
