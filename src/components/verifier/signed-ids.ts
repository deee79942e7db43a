// Hot path: every event whose scheme signs an id passes here.
import { DedupeKeys, type Begun } from "../../dedupe/dedupe-keys.ts"
import { keysIn } from "../../dedupe/key.ts"
import { MemoryKeys } from "../../dedupe/memory-keys.ts"
import type { HooklineError } from "../../errors.ts"
import type { Event } from "../../pipeline/event.ts"
import type { Outcome, Rejected } from "../../pipeline/outcome.ts"
import { unavailable } from "../../pipeline/service-unavailable.ts"
import type { Coverage } from "../../verify/verification.ts"
import type { ComponentContext } from "../define-component.ts"

/*
 * Ids that a scheme signs, remembered so that a captured request can't be replayed. The states of an id are those of a
 * key, see dedupe/dedupe-keys.ts: free; pending while its event is in progress, which others wait for; known after a
 * 2xx answer. Any other answer frees the id for the sender's retry.
 *
 * Where the signature does not cover the body, a captured request could carry another body. There a second key, of id
 * and body, binds the id to the accepted body: the same body is a retry after a lost answer, another one is refused.
 */

/** How long a signed id is remembered at least, whatever the tolerance. */
const KEEP_IDS_MS = 24 * 3_600_000

/** The first use of an id, or a repeated one with the same body or another; a 503: unknown now. */
export type IdUse = "first" | "repeated" | "refilled" | Rejected

/** Claims an event's id until the event has ended. */
export type ClaimId = (id: string, event: Event) => IdUse | Promise<IdUse>

/**
 * Remembers the signed ids of a provider's requests.
 *
 * @param scheme what the signature covers, and its tolerance in milliseconds; 0: unlimited
 */
export function rememberSignedIds(
  provider: string,
  { covers, toleranceMs }: { readonly covers: Coverage; readonly toleranceMs: number },
  context: ComponentContext,
): ClaimId {
  const { pipeline, metrics, deliveryTimeoutMs } = context
  const bindsBody = leavesBodyOpen(covers)
  const keys = openKeys(provider, bindsBody, toleranceMs, context)
  const keyOf = keysIn([pipeline, "signed id", provider])
  // a time stamped ahead by the tolerance stays valid for twice as long
  const keepMs = Math.max(KEEP_IDS_MS, 2 * toleranceMs)

  metrics.undeduplicated("unmarked", 0)
  /** Counts ids that could not be stored; the store logs and retries itself. */
  const count = (isKept: boolean): void => {
    if (!isKept) metrics.undeduplicated("unmarked")
  }
  const end = (key: string, bound: string | undefined, deadlineMs: number, outcome: Outcome | undefined) => {
    if (!isTaken(outcome)) return void keys.end(key, undefined, deadlineMs)
    const kept = (bound === undefined ? [key] : [bound, key]).map((it) => keys.end(it, keepMs, deadlineMs))
    if (kept.every((it) => it === true)) return undefined
    return Promise.all(kept).then((all) => count(all.every((it) => it)))
  }
  /** Whether a used id was used with this body. */
  const compare = async (bound: string, deadlineMs: number): Promise<IdUse> => {
    const claim = await keys.begin(bound, deadlineMs)
    if (claim === "duplicate") return "repeated"
    if (claim !== "first") return unknown(claim)
    await keys.end(bound, undefined, deadlineMs)
    return "refilled"
  }

  return (id, event) => {
    const deadlineMs = event.arrivedMs + deliveryTimeoutMs
    const spelled = JSON.stringify(id)
    const key = keyOf(spelled)
    const bound = bindsBody ? keyOf(spelled, "body", event.body) : undefined
    const conclude = (claim: Begun): IdUse | Promise<IdUse> => {
      if (claim === "duplicate") return bound === undefined ? "repeated" : compare(bound, deadlineMs)
      if (claim !== "first") return unknown(claim)
      event.onSettled((outcome) => end(key, bound, deadlineMs, outcome))
      return "first"
    }
    const claim = keys.begin(key, deadlineMs)
    return claim instanceof Promise ? claim.then(conclude) : conclude(claim)
  }
}

/** Whether a captured request could carry another body. */
export const leavesBodyOpen = ({ body }: Coverage): boolean => body === "none" || body === "checksum"

/** Whether the sender has an answer after which it does not retry. */
function isTaken(outcome: Outcome | undefined): boolean {
  if (outcome === undefined || outcome.kind === "rejected") return false
  return outcome.kind !== "answered" || outcome.status < 300
}

/** What events with a signed id may end with. */
export const ID_REFUSALS: readonly Rejected[] = [
  unavailable("signed_id_pending"),
  unavailable("signed_ids_unavailable"),
]

const unknown = (claim: "late" | HooklineError): Rejected =>
  claim === "late" ? unavailable("signed_id_pending") : unavailable("signed_ids_unavailable", claim.message)

/**
 * The store of signed ids: that of the pipeline's Deduplicator; else, where the body is not signed, a file next to the
 * embedded log, if any; else memory.
 */
function openKeys(
  provider: string,
  bindsBody: boolean,
  toleranceMs: number,
  { log, acquire, dedupeKeys, sharedDedupeKeys, hasLogFolder }: ComponentContext,
): DedupeKeys {
  const shared = sharedDedupeKeys()
  if (shared !== undefined) return shared
  if (bindsBody && hasLogFolder) return dedupeKeys("embedded")
  return acquire({
    name: "signed ids",
    config: provider,
    // ids of signed bodies may be forgotten early: the time check refuses them
    open: () => new DedupeKeys(new MemoryKeys({ log, forgets: !bindsBody && toleranceMs > 0 })),
    close: (it) => it.store.close(),
  })
}
