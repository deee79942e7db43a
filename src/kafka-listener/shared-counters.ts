/** What the event loop and the listener's thread know of each other without a message. */
export class SharedCounters {
  readonly array: Int32Array<SharedArrayBuffer>

  /** @param array of the other thread's */
  constructor(array = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))) {
    this.array = array
  }

  /** How many fetches wait for a commit. */
  get waiting(): number {
    return Atomics.load(this.array, WAITING)
  }

  set waiting(fetches: number) {
    Atomics.store(this.array, WAITING, fetches)
  }

  /** Another number after each change of the log. */
  get changes(): number {
    return Atomics.load(this.array, CHANGES)
  }

  changed(): void {
    Atomics.add(this.array, CHANGES, 1)
  }
}

const WAITING = 0
const CHANGES = 1
