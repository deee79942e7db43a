// Hot path: what is called for an event makes what belongs to its labels once.

/** Adds to a counter; 0: its series begins, so that a rate sees its first event. */
export type Count = (count?: number) => void

export function once<K, T>(make: (key: K) => T): (key: K) => T {
  const made = new Map<K, T>()
  return (key) => {
    let one = made.get(key)
    if (one === undefined) made.set(key, (one = make(key)))
    return one
  }
}

/** Counts by the label handle of its argument. */
export function byFirst<A>(bind: (first: A) => Count): (first: A, count?: number) => void {
  const handleOf = once(bind)
  return (first, count) => handleOf(first)(count)
}

/** Counts by the label handle of both arguments. */
export function byBoth<A, B>(
  bind: (first: A, second: B) => Count,
): (first: A, second: B, count?: number) => void {
  const handlesOf = once((first: A) => once((second: B) => bind(first, second)))
  return (first, second, count) => handlesOf(first)(second)(count)
}
