import type { LogReader, StoredRecord } from "../../brokers/broker.ts"
import { Forward, type ForwardAbout } from "../../replay/forward.ts"
import type { Attempt, OnAttempt } from "../../replay/attempt.ts"
import { urlTarget } from "../../replay/post.ts"
import { toShownUrl } from "../../outgoing/shown-url.ts"
import { positionsInMemory } from "../../replay/position-tables.ts"

const ignore = (): void => {}

/** What the target said of a record: the result, or why it is tried again. */
export interface Forwarded {
  /** `webhooks[0]@42` */
  readonly place: string
  readonly isAccepted: boolean
  readonly text: string
}

interface ForwardingOptions {
  readonly target: URL
  /** Opens the log of a connection. */
  readonly openReader: (connection: string) => Promise<LogReader>
  /** Records from then on are forwarded, in milliseconds since 1970. */
  readonly sinceMs: number
  readonly onResult: (forwarded: Forwarded) => void
  /** A log can't be read any more. */
  readonly failed: (error: unknown) => void
}

/**
 * Posts the records of topics to a URL as they are published, those of a topic one after another; read from the log, so that
 * a slow target holds nothing in memory.
 */
export class Forwarding {
  readonly #options: ForwardingOptions
  readonly #stop = new AbortController()
  readonly #following = new Map<string, Promise<void>>()
  /** Records that the target accepted, and those that it refused. */
  delivered = 0
  refused = 0

  constructor(options: ForwardingOptions) {
    this.#options = options
  }

  /** Forwards a topic too, from the beginning of the forwarding. */
  follow(connection: string, topic: string): void {
    const name = JSON.stringify([connection, topic])
    if (this.#following.has(name) || this.#stop.signal.aborted) return
    this.#following.set(name, this.#follow(connection, topic).catch(this.#options.failed))
  }

  /** Gives up what it has not delivered yet. */
  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#following.values())
  }

  #follow(connection: string, topic: string): Promise<void> {
    const { openReader, sinceMs, target } = this.#options
    const about = { connection, topic, url: target.href }
    const forward = new Forward({
      about,
      store: positionsInMemory<ForwardAbout>(),
      target: urlTarget(target, { attempted: this.#attempted() }),
      open: () => openReader(connection),
      onRefusal: "skip",
      sinceMs,
      signal: this.#stop.signal,
      waiting: ignore,
      began: ignore,
      warn: ignore,
    })
    return forward.run()
  }

  /** Reports results, and of attempts in a row that fail the first. */
  #attempted(): OnAttempt {
    const { target, onResult } = this.#options
    let retried: StoredRecord | undefined
    return (record, attempt, retryInMs) => {
      if (retryInMs !== undefined && retried === record) return
      retried = record
      const isAccepted = attempt.outcome === "delivered"
      if (isAccepted) this.delivered++
      else if (retryInMs === undefined) this.refused++
      const { topic, partition, offset } = record
      const text = `${toShownUrl(target)} ${textOf(attempt, retryInMs)}`
      onResult({ place: `${topic}[${partition}]@${offset}`, isAccepted, text })
    }
  }
}

function textOf(attempt: Attempt, retryInMs: number | undefined): string {
  const inMs = `in ${Math.round(attempt.durationMs)} ms`
  if (attempt.outcome === "delivered") return `${attempt.status} ${inMs}`
  return retryInMs === undefined ? `refused it: ${attempt.reason}` : `${attempt.reason}; retrying`
}
