export const SECONDS = 1000
export const MINUTES = 60 * SECONDS
export const HOURS = 60 * MINUTES
export const DAYS = 24 * HOURS
export const MEBIBYTES = 1024 * 1024

/** What a sender's documentation says of its deliveries. What is absent is not documented, or could not be confirmed. */
export interface SenderFacts {
  /** How long it waits for an answer, in milliseconds. */
  readonly waitsMs?: number
  /** When it makes the last attempt, in milliseconds after the first; 0: it never sends again by itself. */
  readonly repeatsForMs?: number
  /** How its user makes it send again, or more often: `with retries enabled for the webhook there`. */
  readonly repeatsMore?: string
  /** The attempts in a few words: `3 times: at once, after 1 and 5 min`. */
  readonly repeats?: string
  /** The statuses that it repeats, where these are not all: `429 and 5xx`, `all but 406`. */
  readonly repeatsOn?: string
  /** The only status that counts as delivered, where these are not all 2xx. */
  readonly takesOnly?: 200
  /** The largest body that it sends, in bytes. */
  readonly largestBytes?: number
  /** What it does to an endpoint that fails, continuing its name: `deletes the subscription after 8 failures in a row`. */
  readonly disables?: string
  /** After how long of failures it does so, where that is less than it repeats, in milliseconds. */
  readonly disablesAfterMs?: number
  /** Whether a repeated delivery has the id of the first. */
  readonly keepsId?: boolean
  /** Text: of which events. */
  readonly keepsOrder?: boolean | string
  /** Whether each webhook has a secret of its own that the sender chooses, so that one endpoint may need several. */
  readonly secretEach?: true
  /** Members of its events that the Enricher replaces: their values are kept in record headers. */
  readonly replaced?: readonly ("received_at" | "source")[]
  /** Where it publishes the addresses that it sends from, or which they are. */
  readonly addresses?: string
  /** The request that lists its deliveries or events, and how long they are kept. */
  readonly lists?: string
  /** The request, or the place, by which it sends a delivery again. */
  readonly resends?: string
  /** Where an endpoint is set up there, and what is pasted from where. */
  readonly setup?: string
}

/** What it does with a delivery that fails, and what it sends, in clauses that continue its name. */
export function describeDelivery(facts: SenderFacts): string[] {
  const { waitsMs, takesOnly, largestBytes, disables, keepsId, keepsOrder, secretEach } = facts
  const again = describeRepeats(facts)
  return [
    waitsMs !== undefined && `waits ${inTime(waitsMs)} for an answer`,
    takesOnly !== undefined && `counts only ${takesOnly} as delivered`,
    again !== undefined && again,
    disables !== undefined && disables,
    keepsId !== undefined &&
      `a repeated delivery has ${keepsId ? "the id of the first" : "an id of its own"}`,
    keepsOrder !== undefined && describeOrder(keepsOrder),
    largestBytes !== undefined && `sends up to ${inBytes(largestBytes)}`,
    secretEach !== undefined && "each webhook has a secret of its own",
  ].filter((it) => it !== false)
}

const describeOrder = (keeps: boolean | string): string =>
  keeps === false ? "the order is not kept" : `keeps the order${keeps === true ? "" : ` ${keeps}`}`

function describeRepeats(facts: SenderFacts): string | undefined {
  const { repeatsForMs, repeats, repeatsOn, repeatsMore } = facts
  const more = describeMore(facts)
  if (repeatsForMs === 0) return `does not send again by itself${more}`
  const on = (repeatsOn === undefined ? "" : `, on ${repeatsOn}`) + more
  if (repeatsForMs !== undefined)
    return `sends again for ${inTime(repeatsForMs)}${repeats === undefined ? "" : `, ${repeats}`}${on}`
  if (repeats !== undefined) return `sends again ${repeats}${on}`
  if (repeatsOn !== undefined) return `sends again${on}`
  return repeatsMore === undefined ? undefined : `sends again more often ${repeatsMore}`
}

/** How it is made to send again, or more often, as the end of a clause; empty: not known. */
export const describeMore = ({ repeatsForMs, repeatsMore }: SenderFacts): string =>
  repeatsMore === undefined ? "" : `, ${repeatsForMs === 0 ? "except" : "more often"} ${repeatsMore}`

/** What it does after an answer that is not a success, in clauses that continue its name; none: not known. */
export function describeAfter(status: number, facts: SenderFacts): string[] {
  const { repeatsOn, ...all } = facts
  const { repeatsForMs, repeats, disables } = all
  const isUnknown = repeatsForMs === undefined && repeats === undefined && repeatsOn === undefined
  const again =
    repeatsForMs === 0
      ? `does not send it again by itself${describeMore(all)}`
      : !isRepeated(status, repeatsOn)
        ? `does not send it again${repeatsOn!.startsWith(ALL_BUT) ? "" : `: it does so on ${repeatsOn} only`}`
        : describeRepeats(all)
  return [isUnknown ? undefined : (again ?? "sends it again"), disables].filter((it) => it !== undefined)
}

const ALL_BUT = "all but "

/** Whether a status is one of `429 and 5xx`, or not one of `all but 406`. */
function isRepeated(status: number, repeatsOn: string | undefined): boolean {
  if (repeatsOn === undefined) return true
  const isNamed = (repeatsOn.match(/\d(?:\d\d|xx)/g) ?? []).some(
    (it) => it === String(status) || it === `${String(status)[0]}xx`,
  )
  return isNamed !== repeatsOn.startsWith(ALL_BUT)
}

/** `800 ms`, `5 s`, `10 min`, `4 h`, `3 days` */
export function inTime(ms: number): string {
  const [unit, name] = UNITS.find(([length, , least = length]) => ms >= least && ms % length === 0) ?? [
    1,
    "ms",
  ]
  return `${ms / unit} ${name}`
}

const UNITS: readonly (readonly [lengthMs: number, name: string, leastMs?: number])[] = [
  [DAYS, "days", 2 * DAYS],
  [HOURS, "h"],
  [MINUTES, "min"],
  [SECONDS, "s"],
]

/** `1 MB`, `256 KiB`, `13.4 MiB` */
export function inBytes(bytes: number): string {
  if (bytes % 1_000_000 === 0) return `${bytes / 1_000_000} MB`
  const isSmall = bytes < MEBIBYTES
  return `${Math.round((bytes / (isSmall ? 1024 : MEBIBYTES)) * 10) / 10} ${isSmall ? "KiB" : "MiB"}`
}
