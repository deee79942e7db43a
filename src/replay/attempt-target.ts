import type { AttemptOptions } from "./attempt.ts"
import { KeyedTarget } from "./keyed-target.ts"
import { OrderedTarget } from "./ordered-target.ts"
import type { AttemptTarget } from "./target.ts"

/** A target that is attempted in the order of the records or, with more than one at once, in order within a key. */
export function attemptTarget(options: AttemptOptions): AttemptTarget {
  const { concurrency = 1 } = options
  return concurrency === 1 ? new OrderedTarget(options) : new KeyedTarget({ ...options, concurrency })
}
