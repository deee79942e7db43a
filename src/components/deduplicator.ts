// Hot path: every event of a pipeline with a Deduplicator passes here.
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { parseCertificate } from "../config/certificate.ts"
import { custom, duration, file, text } from "../config/options.ts"
import { guard, notA } from "../config/option.ts"
import { isFolder, isShared, isStore, isTls, STORE_FORM } from "../dedupe/location.ts"
import type { Claim } from "../dedupe/mark-store.ts"
import type { Marks } from "../dedupe/marks.ts"
import { HooklineError } from "../errors.ts"
import { Dropped, Rejected, type Event, type Processor, type RequestInfo } from "../event.ts"
import { steadyMs } from "../steady-clock.ts"
import { defineComponent, type ComponentContext, type Store } from "./component.ts"
import { DEDUPE_KEY_FORM, parseDedupeKey, type KeyOf } from "./dedupe-key.ts"

const DAY_MS = 86_400_000

/** Publishes one of several events of one key. */
export const Deduplicator = defineComponent({
  kind: "processor",
  name: "Deduplicator",
  summary:
    "Drops an event when one of the same key was published within the window; it is answered as if it were accepted, after the first one's acknowledgement. An event that was not published leaves no mark. While the store is down events get 503.",
  options: {
    key: text({
      form: DEDUPE_KEY_FORM,
      accepts: (value) => parseDedupeKey(value, "") !== undefined,
      doc: "What tells events apart: a header's value, or a string or number of the body, as it is spelled. An event that lacks it passes unchecked, and is counted. What the sender's own redelivery repeats (GitHub's does repeat X-GitHub-Delivery) is a duplicate within the window.",
    }),
    window: duration({
      minMs: 1000,
      maxMs: 400 * DAY_MS,
      default: "24h",
      doc: "How long after its publishing an event is known. A changed window holds for events from then on.",
    }),
    store: custom<string, { default: string; secret: true; doc: string }>(
      STORE_FORM,
      {
        default: "embedded",
        secret: true,
        doc: "Where published events are known. `embedded`: in a file in the embedded log's folder, or, for a pipeline that publishes to Kafka, in `hookline-data` beside the configuration file; a folder: in a file there; one process at a time. `redis://`: for several processes together. `memory`: in this process, up to 200,000, gone when it ends.",
      },
      (value, { baseDir }) => {
        if (!isStore(value)) throw notA(STORE_FORM, value)
        return isFolder(value) ? resolve(baseDir, value) : value
      },
      guard(STORE_FORM, (value) => typeof value === "string" && isStore(value)),
    ),
    store_ca: file({
      optional: true,
      doc: "PEM file with the CAs that the certificate of a `rediss://` store is checked against, instead of the public ones.",
    }),
  },
  store: storeOf,
  alone: ({ store }) =>
    store === undefined || isShared(store) ? undefined : { key: "store", advice: "name a redis:// store" },
  check({ values: { store }, isGiven, wrong }) {
    if (isGiven("store_ca") && store !== undefined && !isTls(store))
      wrong("store_ca", "has no effect without a rediss:// store; remove it, or reach the store by TLS")
  },
  create({ key, window, ...where }, context) {
    const { store, ca } = storeOf(where)
    const keyOf = parseDedupeKey(key, context.pipeline)
    if (keyOf === undefined) throw new HooklineError("config", `${key} is not ${DEDUPE_KEY_FORM}`)
    return deduplication({ keyOf, windowMs: window, marks: context.marks(store, ca) }, context)
  },
})

function storeOf({ store, store_ca: ca }: { store: string; store_ca: string | undefined }): Store {
  return { store, ca: ca === undefined ? undefined : readCa(ca) }
}

function readCa(path: string): string {
  try {
    const pem = readFileSync(path, "utf8")
    parseCertificate(pem)
    return pem
  } catch (cause) {
    throw new HooklineError("config", `store_ca ${path}: ${(cause as Error).message}`, { cause })
  }
}

interface Settings {
  readonly keyOf: KeyOf
  readonly windowMs: number
  readonly marks: Marks
}

/** An event on its way, the first of its key. */
interface First {
  readonly key: string
  readonly deadlineMs: number
}

/** Makes the step; `now` is in milliseconds since 1970. */
export function deduplication(
  { keyOf, windowMs, marks }: Settings,
  { log, metrics, deliveryTimeoutMs }: Pick<ComponentContext, "log" | "metrics" | "deliveryTimeoutMs">,
  now: () => number = Date.now,
): Processor {
  const firsts = new WeakMap<RequestInfo, First>()
  const tellUnchecked = seldom((events) =>
    log.warn({ events }, "events without the Deduplicator's key pass unchecked"),
  )
  const tellUnmarked = seldom((events) =>
    log.error({ events }, "marks of published events could not be kept: duplicates may be published"),
  )

  const passUnchecked = (event: Event): Event => {
    metrics.undeduplicated("no_key")
    tellUnchecked()
    return event
  }
  /** Anybody may have sent it: it must not make the provider's own event a duplicate, nor be one. */
  const passUnverified = (event: Event): Event => {
    metrics.undeduplicated("unverified")
    return event
  }
  const end = (isMarked: boolean): void => {
    if (isMarked) return
    metrics.undeduplicated("unmarked")
    tellUnmarked()
  }

  const conclude = (event: Event, first: First, claim: Claim): Event | Dropped | Rejected => {
    if (claim === "duplicate") return DUPLICATE
    if (claim === "late") return LATE
    firsts.set(event.request, first)
    return event
  }

  const process = (event: Event): ReturnType<Processor> => {
    if (event.isUnverified === true) return passUnverified(event)
    const key = keyOf(event)
    if (key === undefined) return passUnchecked(event)
    const first = { key, deadlineMs: event.arrivedMs + deliveryTimeoutMs }
    try {
      const claim = marks.begin(key, first.deadlineMs)
      if (!(claim instanceof Promise)) return conclude(event, first, claim)
      return claim.then((it) => conclude(event, first, it), refusal)
    } catch (error) {
      return refusal(error)
    }
  }

  const settled = (request: RequestInfo, published: boolean): void | Promise<void> => {
    const first = firsts.get(request)
    if (first === undefined) return undefined
    const marked = marks.end(first.key, published ? now() + windowMs : undefined, first.deadlineMs)
    return marked instanceof Promise ? marked.then(end) : end(marked)
  }

  return Object.assign(process, { settled })
}

const TELL_EVERY_MS = 60_000

/** Tells at once, and then at most once a minute, of how many there were since. */
function seldom(tell: (count: number) => void): () => void {
  let count = 0
  let toldMs = Number.NEGATIVE_INFINITY
  return () => {
    count++
    if (steadyMs() - toldMs < TELL_EVERY_MS) return
    toldMs = steadyMs()
    tell(count)
    count = 0
  }
}

const DUPLICATE = new Dropped("duplicate", "an event of this key was published before")

const LATE = new Rejected(
  503,
  "duplicate_pending",
  "Another event of the same id is still being stored; send this one again.",
  { headers: { "Retry-After": "5" } },
)

/** Without its store nobody knows whether an event is a duplicate: it is neither published nor dropped. */
function refusal(error: unknown): Rejected {
  if (!(error instanceof HooklineError) || error.code !== "unavailable") throw error
  return new Rejected(
    503,
    "deduplicator_unavailable",
    "The event can't be stored now; send it again later.",
    {
      logDetail: error.message,
      headers: { "Retry-After": "5" },
    },
  )
}
