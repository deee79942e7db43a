/*
 * A binary heap of things by their times, the earliest first: knowing that nothing is due takes a look at one, whatever their
 * number.
 */

interface Timed<T> {
  readonly of: T
  ms: number
}

/** Times are in milliseconds. */
export class OldestFirst<T> {
  readonly #heap: Timed<T>[] = []

  /** undefined: there is none. */
  get oldest(): T | undefined {
    return this.#heap[0]?.of
  }

  /** The earliest time; Infinity: there is none. */
  get oldestMs(): number {
    return this.#timeAt(0)
  }

  add(of: T, ms: number): void {
    this.#heap.push({ of, ms })
    let at = this.#heap.length - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (this.#timeAt(parent) <= ms) return
      this.#swap(at, parent)
      at = parent
    }
  }

  /** The oldest has another time, no earlier one. @param ms Infinity: it leaves */
  moveOldest(ms: number): void {
    const heap = this.#heap
    if (ms < Number.POSITIVE_INFINITY) heap[0]!.ms = ms
    else {
      const last = heap.pop()!
      if (heap.length === 0) return
      heap[0] = last
    }
    for (let at = 0; ;) {
      const left = 2 * at + 1
      const child = this.#timeAt(left + 1) < this.#timeAt(left) ? left + 1 : left
      if (this.#timeAt(child) >= this.#timeAt(at)) return
      this.#swap(at, child)
      at = child
    }
  }

  #timeAt(at: number): number {
    return this.#heap[at]?.ms ?? Number.POSITIVE_INFINITY
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap
    ;[heap[a], heap[b]] = [heap[b]!, heap[a]!]
  }
}
