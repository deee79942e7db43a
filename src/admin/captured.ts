import { withoutHidden } from "../process/hidden-segments.ts"
import { maskValue } from "../verify/masking.ts"
import type { CaptureMode } from "../config/sections.ts"
import type { AnsweredRequest, Capture } from "../pipeline/outcome-log.ts"
import type { Outcome, Rejected } from "../pipeline/outcome.ts"
import type { CaptureSummary } from "./api/capture-shapes.ts"
import { FairRing } from "./fair-ring.ts"
import { ReasonTallies } from "./reason-tallies.ts"

/** A captured request, as lists have it; `pipeline` null: none has its path. */
export interface Captured extends Omit<CaptureSummary, "words" | "detail"> {
  /** When it first came, in milliseconds since 1970. */
  readonly cameAtMs: number
  /** For the log. */
  readonly detail: string | undefined
  readonly place: PublishedPlace | undefined
}

/** Where an event was published. */
export interface PublishedPlace {
  /** undefined: the sink's. */
  readonly topic: string | undefined
  readonly partition: number
  readonly offset: number
}

/** What lists leave out. */
interface Content {
  readonly query: string
  /** The URL that the sender knows. */
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The connection's, which may be a proxy's; undefined: unknown. */
  readonly peerAddress: string | undefined
  /** The body as received, decompressed; undefined: not read, or not kept. */
  readonly body: Uint8Array | undefined
}

export interface CapturedRequest extends Captured, Content {}

interface Kept {
  readonly bytes: number
  readonly captured: Captured
  readonly content: Content
}

export interface CaptureQuery {
  readonly pipeline?: string | undefined
  readonly outcome?: Outcome["kind"] | undefined
  readonly reason?: string | undefined
  /** Only requests that were captured before the one of this id; `after`: after it. */
  readonly before?: string | undefined
  readonly after?: string | undefined
  readonly limit: number
}

export interface CaptureLimits {
  readonly mode: CaptureMode
  readonly maxRequests: number
  readonly maxBytes: number
}

/** The share of the limits that each kind may fill, so that none displaces another. */
const SHARES = {
  refused: { refused: 7 / 8, passed: 0, unknown: 1 / 8 },
  all: { refused: 3 / 8, passed: 4 / 8, unknown: 1 / 8 },
  off: { refused: 0, passed: 0, unknown: 0 },
} as const
type Kind = keyof (typeof SHARES)["all"]

/** The largest body that is kept. */
const MAX_BODY_SHARE = 1 / 4
/** What a request needs besides its headers and body, in bytes. */
const OVERHEAD_BYTES = 512
/** More are not captured in a millisecond, but for a moment. */
const SEQUENCES_A_MS = 4096
const EPOCH_MS = Date.UTC(2020)

/** Ascending with time. */
export const sequenceOf = (id: string): number => Number.parseInt(id, 36)

/** The last requests of a process, in memory, and how many were refused and dropped, kept or not. */
export class Captures implements Capture {
  readonly tallies = new ReasonTallies()
  readonly #kept: { readonly [kind in Kind]: FairRing<Kept> } = {
    refused: new FairRing(),
    passed: new FairRing(),
    unknown: new FairRing(),
  }
  #limits: CaptureLimits = { mode: "off", maxRequests: 0, maxBytes: 0 }
  #sequence = 0

  get keepsAccepted(): boolean {
    return this.#limits.mode === "all"
  }

  /** What is kept beyond other limits is dropped, the oldest first. */
  setLimits(limits: CaptureLimits): void {
    this.#limits = limits
    const { mode, maxRequests, maxBytes } = limits
    for (const [kind, ring] of Object.entries(this.#kept) as [Kind, FairRing<Kept>][]) {
      const share = SHARES[mode][kind]
      ring.limit(Math.ceil(maxRequests * share), maxBytes * share)
    }
  }

  /** Refused and dropped ones are at least counted. */
  wants(outcome: Outcome | undefined): boolean {
    return isRefusal(outcome) || outcome?.kind === "dropped" || this.#limits.mode === "all"
  }

  keep({ pipeline, request, event, bytes, status, outcome }: AnsweredRequest): void {
    const { mode } = this.#limits
    const kind = pipeline === undefined ? "unknown" : isRefusal(outcome) ? "refused" : "passed"
    const atMs = Date.now()
    const why = reasonOf(outcome)
    if (isRefusal(outcome) || outcome?.kind === "dropped")
      this.tallies.count(
        { pipeline: pipeline ?? null, outcome: outcome?.kind ?? "rejected", status, ...why },
        atMs,
      )
    if (mode === "off" || (mode === "refused" && !isRefusal(outcome))) return
    if (!this.#kept[kind].accepts(pipeline ?? "", atMs)) return
    const captured: Captured = {
      id: this.#next(atMs).toString(36),
      request_id: request.id,
      at: atMs,
      cameAtMs: event?.receivedAtMs ?? request.firstCameAtMs ?? atMs,
      pipeline: pipeline ?? null,
      method: request.method,
      path: request.path,
      remote_address: request.remoteAddress,
      outcome: outcome?.kind ?? "rejected",
      status,
      ...why,
      bytes: bytes ?? null,
      place: publishedPlaceOf({ outcome, event }),
    }
    const content: Content = {
      query: request.query,
      url: request.url,
      headers: [...request.headers],
      peerAddress: request.peerAddress,
      body: event === undefined || event.isReleased ? undefined : this.#bodyOf(event.receivedBody),
    }
    this.#kept[kind].add(
      { captured, content, bytes: sizeOf(captured, content) },
      pipeline ?? "",
      captured.reason,
    )
  }

  /** The newest first. */
  list({ pipeline, outcome, reason, before, after, limit }: CaptureQuery): Captured[] {
    const until = before === undefined ? Infinity : sequenceOf(before)
    const from = after === undefined ? -Infinity : sequenceOf(after)
    return this.#all()
      .map(({ captured }) => captured)
      .filter((it) => (pipeline ?? it.pipeline) === it.pipeline)
      .filter((it) => (outcome ?? it.outcome) === it.outcome && (reason ?? it.reason) === it.reason)
      .map((it) => [sequenceOf(it.id), it] as const)
      .filter(([sequence]) => sequence < until && sequence > from)
      .toSorted(([a], [b]) => b - a)
      .slice(0, limit)
      .map(([, it]) => it)
  }

  find(id: string): CapturedRequest | undefined {
    const found = this.#all().find(({ captured }) => captured.id === id)
    return found && { ...found.captured, ...found.content }
  }

  clear(): void {
    this.tallies.clear()
    for (const ring of Object.values(this.#kept)) ring.clear()
  }

  #all(): Kept[] {
    return Object.values(this.#kept).flatMap((ring) => [...ring.requests])
  }

  /** The next sequence number, made of the time, so that those of all replicas have one order. */
  #next(atMs: number): number {
    this.#sequence = Math.max(this.#sequence + 1, (atMs - EPOCH_MS) * SEQUENCES_A_MS)
    return this.#sequence
  }

  #bodyOf(body: Uint8Array): Uint8Array | undefined {
    if (body.length > this.#limits.maxBytes * MAX_BODY_SHARE) return undefined
    // a part of a larger buffer would keep it all
    return body.buffer.byteLength > body.length ? body.slice() : body
  }
}

const isRefusal = (outcome: Outcome | undefined): outcome is Rejected | undefined =>
  outcome === undefined || outcome.kind === "rejected"

const shown = (detail: string): string => withoutHidden(maskValue(detail))

function reasonOf(outcome: Outcome | undefined): Pick<Captured, "reason" | "detail"> {
  if (outcome === undefined) return { reason: "internal", detail: undefined }
  if (outcome.kind === "accepted") return { reason: "accepted", detail: undefined }
  if (outcome.kind === "rejected") {
    // the detail of a 503 is advice for the sender; its reason says the same
    const detail = outcome.logDetail ?? (outcome.status === 503 ? undefined : outcome.detail)
    return { reason: outcome.reason, detail: detail && shown(detail) }
  }
  return {
    reason: outcome.reason,
    detail: outcome.kind === "dropped" ? outcome.detail && shown(outcome.detail) : undefined,
  }
}

/** Where it was published; undefined: not known, or a list, which became several records and has no body left. */
export function publishedPlaceOf({
  outcome,
  event,
}: Pick<AnsweredRequest, "outcome" | "event">): PublishedPlace | undefined {
  if (outcome?.kind !== "accepted" || event === undefined || event.body.length === 0) return undefined
  const { partition, offset } = outcome.receipt
  return partition < 0 || offset < 0 ? undefined : { topic: event.topic, partition, offset }
}

function sizeOf({ path }: Captured, { headers, body, url, query }: Content): number {
  const own = url.length + path.length + query.length + (body?.length ?? 0)
  return headers.reduce((sum, [name, value]) => sum + name.length + value.length, own + OVERHEAD_BYTES)
}
