/*
 * W3C Trace Context: https://www.w3.org/TR/trace-context-2/. What is malformed is left out; tracestate means nothing without
 * traceparent.
 */

export interface TraceContext {
  readonly traceparent: string
  readonly tracestate: string | undefined
}

/** The context in a request's headers; undefined: none that is well-formed. */
export function traceContextOf(headers: Headers): TraceContext | undefined {
  const traceparent = headers.get("traceparent")
  if (traceparent === null || !isTraceParent(traceparent)) return undefined
  const state = headers.get("tracestate")
  return { traceparent, tracestate: state !== null && isTraceState(state) ? state : undefined }
}

/** The fields of a well-formed traceparent. */
export function fieldsOf(traceparent: string): { traceId: string; spanId: string; isSampled: boolean } {
  const [, traceId, spanId, flags] = traceparent.split("-") as [string, string, string, string]
  return { traceId, spanId, isSampled: (Number.parseInt(flags.slice(0, 2), 16) & SAMPLED) !== 0 }
}

export const makeTraceParent = (traceId: string, spanId: string, isSampled: boolean): string =>
  `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`

const SAMPLED = 1

/** Section 3.2: of version 00 exactly these fields, of later ones perhaps more; no id is all zeros. */
const TRACE_PARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[\x20-\x7e]*)?$/

/** Those of the only version so far have 55. */
const LONGEST_PARENT = 256

function isTraceParent(value: string): boolean {
  if (value.length > LONGEST_PARENT) return false
  const [, version, more] = TRACE_PARENT.exec(value) ?? []
  return version !== undefined && (version !== "00" || more === undefined)
}

/** Section 3.3.1.3: a key, perhaps of a tenant, and a value that does not end with a space. */
const MEMBER =
  /^(?:[a-z0-9][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=(?=[\x20-\x7e]{1,256}$)[^,=]*[^,= ]$/
const MOST_MEMBERS = 32

function isTraceState(value: string): boolean {
  if (!/^[\t\x20-\x7e]*$/.test(value)) return false
  const members = value
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "")
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf("="))))
  return (
    members.length > 0 &&
    members.length <= MOST_MEMBERS &&
    keys.size === members.length &&
    members.every((member) => MEMBER.test(member))
  )
}
