/** How many of a pipeline are kept in a second, or as many as there are places: more would only displace each other. */
const LEAST_A_SECOND = 1000

/** Requests and their size. */
interface Group {
  count: number
  bytes: number
}

interface Reason<T> extends Group {
  /** The oldest first. */
  readonly requests: Set<T>
}

interface OfPipeline<T> extends Group {
  readonly reasons: Map<string, Reason<T>>
}

/**
 * Requests up to a number and a size. Where they are full, the pipeline that has the most gives way, by the oldest of the
 * reason that it has most often: a flood displaces itself alone.
 */
export class FairRing<T extends { readonly bytes: number }> implements Group {
  count = 0
  bytes = 0
  readonly #pipelines = new Map<string, OfPipeline<T>>()
  #second = 0
  /** Requests of this second by pipeline. */
  readonly #inSecond = new Map<string, number>()
  #maxRequests = 0
  #maxBytes = 0

  get requests(): Iterable<T> {
    return [...this.#pipelines.values()].flatMap(({ reasons }) =>
      [...reasons.values()].flatMap(({ requests }) => [...requests]),
    )
  }

  limit(maxRequests: number, maxBytes: number): void {
    this.#maxRequests = maxRequests
    this.#maxBytes = maxBytes
    this.#shrink()
  }

  /** Whether another one of a pipeline is to be added in this second. */
  accepts(pipeline: string, atMs: number): boolean {
    const second = Math.floor(atMs / 1000)
    if (second !== this.#second) this.#inSecond.clear()
    this.#second = second
    const count = (this.#inSecond.get(pipeline) ?? 0) + 1
    this.#inSecond.set(pipeline, count)
    return count <= Math.max(LEAST_A_SECOND, this.#maxRequests)
  }

  add(request: T, pipeline: string, reason: string): void {
    const ofPipeline = this.#pipelines.getOrInsertComputed(pipeline, () => ({
      count: 0,
      bytes: 0,
      reasons: new Map(),
    }))
    const ofReason = ofPipeline.reasons.getOrInsertComputed(reason, () => ({
      count: 0,
      bytes: 0,
      requests: new Set(),
    }))
    ofReason.requests.add(request)
    this.#count([ofReason, ofPipeline], 1, request.bytes)
    this.#shrink()
  }

  clear(): void {
    this.#pipelines.clear()
    this.count = 0
    this.bytes = 0
  }

  #shrink(): void {
    while (this.count > this.#maxRequests || this.bytes > this.#maxBytes) {
      const isOverCount = this.count > this.#maxRequests
      const [pipeline, ofPipeline] = largest(this.#pipelines, isOverCount)
      const [reason, ofReason] = largest(ofPipeline.reasons, isOverCount)
      const [oldest] = ofReason.requests
      ofReason.requests.delete(oldest!)
      this.#count([ofReason, ofPipeline], -1, -oldest!.bytes)
      if (ofReason.count === 0) ofPipeline.reasons.delete(reason)
      if (ofPipeline.count === 0) this.#pipelines.delete(pipeline)
    }
  }

  #count(groups: readonly Group[], count: number, bytes: number): void {
    for (const group of [this, ...groups]) {
      group.count += count
      group.bytes += bytes
    }
  }
}

/** The group that has the most requests or bytes; of bytes one with several requests, if there is one. */
function largest<G extends Group>(groups: ReadonlyMap<string, G>, byCount: boolean): readonly [string, G] {
  const size = ({ count, bytes }: Group): number => (byCount ? count : count > 1 ? bytes : 0)
  return [...groups].reduce((most, it) => (size(it[1]) > size(most[1]) ? it : most))
}
