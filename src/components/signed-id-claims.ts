// Hot path: every event whose scheme signs an id passes here.
import { Marks } from "../dedupe/marks.ts"
import { openMemoryMarks } from "../dedupe/memory-marks.ts"
import { SignedIds, type Claimed, type ClaimedId } from "../dedupe/signed-ids.ts"
import { HooklineError } from "../errors.ts"
import type { Event, Outcome, Processor, RequestInfo } from "../event.ts"
import type { Coverage } from "../verify/family.ts"
import type { ComponentContext } from "./component.ts"

/** How long a signed id is known at least, whatever the tolerance. */
const KEEP_IDS_MS = 24 * 3_600_000

/** What becomes of an event whose signature has an id; `unavailable`: nobody knows now whether it was used before. */
export type IdVerdict = Claimed["kind"] | HooklineError

/** The signed ids of one Verifier's events. */
export interface SignedIdClaims {
  /** Claims an event's id until the event's way has ended. */
  claim(id: string, event: Event): IdVerdict | Promise<IdVerdict>
  readonly settled: NonNullable<Processor["settled"]>
}

type Context = Pick<
  ComponentContext,
  | "pipeline"
  | "log"
  | "metrics"
  | "keep"
  | "peers"
  | "workers"
  | "marks"
  | "sharedMarks"
  | "hasLogFolder"
  | "deliveryTimeoutMs"
>

/**
 * Makes what remembers the signed ids of a provider's requests.
 *
 * @param scheme what the signature covers, and how far a signed time may be off, in milliseconds; 0: any
 * @param now the clock, in milliseconds since 1970
 */
export function signedIdClaims(
  provider: string,
  scheme: { readonly covers: Coverage; readonly toleranceMs: number },
  context: Context,
  now: () => number,
): SignedIdClaims {
  const bindsBody = leavesBodyOpen(scheme.covers)
  const { toleranceMs } = scheme
  const ids = new SignedIds(openMarks(provider, bindsBody, toleranceMs, context, now), {
    space: [context.pipeline, "signed id", provider],
    bindsBody,
    // a signed time may be off either way: one that is stamped as far ahead as may be is good for twice as long
    keepMs: Math.max(KEEP_IDS_MS, 2 * toleranceMs),
    now,
  })
  /** Those of events on their way. */
  const claimed = new WeakMap<RequestInfo, ClaimedId>()
  const conclude = (event: Event, claim: Claimed): IdVerdict => {
    if (claim.kind === "first") claimed.set(event.request, claim.id)
    return claim.kind
  }
  /** Counts what the store could not keep; it says so itself, and keeps trying. */
  const count = (isMarked: boolean): void => {
    if (!isMarked) context.metrics.undeduplicated("unmarked")
  }
  return {
    claim(id, event) {
      try {
        const claim = ids.claim(id, event.body, event.arrivedMs + context.deliveryTimeoutMs)
        return claim instanceof Promise
          ? claim.then((it) => conclude(event, it), unavailable)
          : conclude(event, claim)
      } catch (error) {
        return unavailable(error)
      }
    },
    settled(request, _published, outcome) {
      const id = claimed.get(request)
      if (id === undefined) return undefined
      const marked = ids.end(id, isTaken(outcome))
      return marked instanceof Promise ? marked.then(count) : count(marked)
    },
  }
}

/** Whether who has one signed request can put another body to its id. */
export const leavesBodyOpen = ({ body }: Coverage): boolean => body === "none" || body === "checksum"

/** Whether the sender was told that it need not send again. */
function isTaken(outcome: Outcome | undefined): boolean {
  if (outcome === undefined || outcome.kind === "rejected") return false
  return outcome.kind !== "answered" || outcome.status < 300
}

function unavailable(error: unknown): HooklineError {
  if (error instanceof HooklineError && error.code === "unavailable") return error
  throw error
}

/**
 * Where signed ids are remembered: in the store of the pipeline's Deduplicator; else, where the signature leaves the body
 * open, in a file beside the embedded log, if this process has one; else in memory.
 */
function openMarks(
  provider: string,
  bindsBody: boolean,
  toleranceMs: number,
  { log, keep, peers, workers, marks, sharedMarks, hasLogFolder }: Context,
  now: () => number,
): Marks {
  const shared = sharedMarks()
  if (shared !== undefined) return shared
  if (bindsBody && hasLogFolder && workers === 1) return marks("embedded")
  return keep({
    name: "signed ids",
    wants: provider,
    open: () =>
      new Marks(
        openMemoryMarks({
          log,
          now,
          shared: peers && { peers, name: `signed ids of ${provider}` },
          // those of signed bodies that the time refuses soon
          forgets: !bindsBody && toleranceMs > 0,
        }),
      ),
    close: (it) => it.close(),
  })
}
