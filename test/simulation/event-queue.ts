/** Something that happens at a time, in microseconds; those of one time in the order in which they were added. */
export interface QueuedEvent {
  atUs: number
  order: number
}

/** Events by time: a binary heap. */
export class EventQueue<E extends QueuedEvent> {
  readonly #heap: E[] = []

  get length(): number {
    return this.#heap.length
  }

  first(): E | undefined {
    return this.#heap[0]
  }

  add(event: E): void {
    const heap = this.#heap
    let at = heap.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (isBefore(heap[parent]!, event)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = event
  }

  take(): E | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (heap.length === 0 || last === undefined) return first
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (isBefore(last, heap[child]!)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return first
  }

  *[Symbol.iterator](): Generator<E> {
    yield* this.#heap
  }
}

const isBefore = (one: QueuedEvent, other: QueuedEvent): boolean =>
  one.atUs < other.atUs || (one.atUs === other.atUs && one.order < other.order)
