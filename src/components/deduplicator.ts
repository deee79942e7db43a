// Hot path: every event of a pipeline with a Deduplicator passes here.
import { blank, message, setting } from "../message.ts"
import { resolve } from "node:path"
import { readCas } from "../process/pem-files.ts"
import { uniform } from "../config/declarations.ts"
import { duration, file, literalPath } from "../config/options/option-types.ts"
import { isFolder, isStore, STORE_FORM } from "../dedupe/location.ts"
import { isRedisUrl, isTls } from "../addresses/redis-url.ts"
import type { Begun, DedupeKeys } from "../dedupe/dedupe-keys.ts"
import { opening } from "../errors.ts"
import type { Event, Processor } from "../pipeline/event.ts"
import { Dropped, type Ended } from "../pipeline/outcome.ts"
import { unavailable } from "../pipeline/service-unavailable.ts"
import { defineComponent, type ComponentContext, type Store } from "./define-component.ts"
import { DEDUPE_KEY_FORM, EVENT_ID, isDedupeKey, parseDedupeKey, type KeyOf } from "./dedupe-key.ts"
import { checkExtractions, valueOption } from "./extraction.ts"
import { rarely } from "../clock/lasting.ts"

const DAY_MS = 86_400_000

export const deduplicator = defineComponent({
  kind: "processor",
  name: "Deduplicator",
  summary:
    "Drops an event if one with the same key was published within the window; the answer is that of an accepted event, after the first one's acknowledgement. Only published events are remembered. While the store is down events get 503.",
  options: {
    key: valueOption({
      form: DEDUPE_KEY_FORM,
      accepts: isDedupeKey,
      optional: true,
      doc: "What identifies an event: a header's value, or a string or number of the body, as it is spelled. Default: `event:id`, where the provider's preset knows it (see providers.md). An event without it passes unchecked, and is counted. A sender's redelivery with the same key (GitHub repeats X-GitHub-Delivery) is a duplicate within the window.",
    }),
    window: duration({
      minMs: 1000,
      maxMs: 400 * DAY_MS,
      default: "24h",
      doc: "How long a published event is remembered. A changed window applies to later events.",
    }),
    store: uniform(
      STORE_FORM,
      {
        default: "embedded",
        secret: true,
        doc: "Where keys of published events are kept. `embedded`: in a file in the embedded log's folder, or, for a pipeline that publishes to Kafka, in `hookline-data` beside the configuration file; a folder: in a file there; one process at a time. `redis://`: for several processes together. `memory`: in this process, up to 200,000, lost when it ends.",
      },
      (value, { baseDir }) =>
        isStore(value) && isFolder(value) ? resolve(baseDir, literalPath(value)) : value,
      (value: string) => typeof value === "string" && isStore(value),
    ),
    store_ca: file({
      optional: true,
      doc: "PEM file with the CAs that the certificate of a `rediss://` store is checked against, instead of the public ones.",
    }),
  },
  store: storeOf,
  alone: ({ store }) =>
    store === undefined || isRedisUrl(store)
      ? undefined
      : {
          key: "store",
          effect: "a delivery that is repeated to another one would be published twice",
          advice: message`set ${setting("store", "redis://...")}, the same for all`,
        },
  check({ values: { store }, isGiven, wrong }) {
    if (isGiven("store_ca") && store !== undefined && !isTls(store))
      wrong(
        "store_ca",
        "has no effect without a rediss:// store; remove it, or reach the store by TLS",
        "conflicting_keys",
      )
  },
  checkInPipeline({ values: { key }, isGiven, sender, wrong }) {
    if (key !== undefined) return checkExtractions([key], sender, (text) => wrong("key", text))
    if (isGiven("key") || sender?.event.id !== undefined) return
    const why = sender === undefined ? "" : `: ${sender.name} is not known to have an id`
    wrong(
      "key",
      message`is missing; add ${blank("key", "header:Name or json:/pointer")}${why}`,
      "missing_key",
    )
  },
  create({ key = EVENT_ID, window, ...where }, context) {
    const { store, ca } = storeOf(where)
    const keyOf = parseDedupeKey(key, context.pipeline, context.sender)!
    const keys = opening("store", () => context.dedupeKeys(store, ca))
    return deduplication({ keyOf, windowMs: window, keys }, context)
  },
})

function storeOf({ store, store_ca: ca }: { store: string; store_ca: string | undefined }): Store {
  return { store, ca: ca === undefined ? undefined : readCas("store_ca", ca) }
}

function deduplication(
  { keyOf, windowMs, keys }: { keyOf: KeyOf; windowMs: number; keys: DedupeKeys },
  { log, metrics, deliveryTimeoutMs }: Pick<ComponentContext, "log" | "metrics" | "deliveryTimeoutMs">,
): Processor {
  const logWithoutKey = rarely(60_000, (events) =>
    log.warn({ events }, "events without the Deduplicator's key pass unchecked"),
  )
  const logNotKept = rarely(60_000, (events) =>
    log.error({ events }, "keys of published events could not be stored; duplicates may be published"),
  )
  const count = (isKept: boolean): void => {
    if (isKept) return
    metrics.undeduplicated("unmarked")
    logNotKept()
  }

  const conclude = (event: Event, key: string, deadlineMs: number, claim: Begun): Event | Ended => {
    if (claim === "duplicate") return DUPLICATE
    if (claim === "late") return unavailable("duplicate_pending")
    // without its store an event may be a duplicate
    if (claim !== "first") return unavailable("deduplicator_unavailable", claim.message)
    const withRecord = keys.store.withRecord?.(key, windowMs)
    event.list?.keys.set(key, event)
    event.onSettled((outcome) => {
      event.list?.keys.delete(key)
      const knownMs = outcome?.kind === "accepted" ? windowMs : undefined
      const kept = keys.end(key, knownMs, deadlineMs, withRecord)
      return kept instanceof Promise ? kept.then(count) : count(kept)
    })
    event.dedupeKey = withRecord
    return event
  }

  for (const reason of ["no_key", "unmarked", "unverified"] as const) metrics.undeduplicated(reason, 0)
  const process: Processor = (event) => {
    // it may be forged: it must neither make the provider's event a duplicate nor be one
    if (event.request.failedVerification === true) {
      metrics.undeduplicated("unverified")
      return event
    }
    const key = keyOf(event)
    if (key === undefined) {
      metrics.undeduplicated("no_key")
      logWithoutKey()
      return event
    }
    // an earlier item of the list has the key; the list is answered only once that is published
    const sibling = event.list?.keys.get(key)
    if (sibling !== undefined && sibling !== event) return DUPLICATE
    const deadlineMs = event.arrivedMs + deliveryTimeoutMs
    const claim = keys.begin(key, deadlineMs)
    if (!(claim instanceof Promise)) return conclude(event, key, deadlineMs, claim)
    return claim.then((it) => conclude(event, key, deadlineMs, it))
  }
  const outcomes = [DUPLICATE, unavailable("duplicate_pending"), unavailable("deduplicator_unavailable")]
  return Object.assign(process, { outcomes })
}

const DUPLICATE = new Dropped("duplicate", "an event with this key was published before")
