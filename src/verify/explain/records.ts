import type { SignedRequest } from "../verifier.ts"
import type { Candidate } from "./inquiry.ts"

/** What the Enricher appends. */
const ENRICHMENT =
  /,?"received_at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d","source":"webhook"(\}\s*)$/

const NAMED = ',"value":'

/**
 * A body that is a record of Hookline's: its value, or a line of `hookline tail --format json`; undefined: it is not. `before`
 * is the value without the members that were appended.
 */
export function readRecord(body: Uint8Array) {
  const text = Buffer.from(body).toString()
  const line = valueOfLine(text)
  const value = line ?? text
  if (!ENRICHMENT.test(value.slice(-200))) return undefined
  return {
    form: line === undefined ? ("value" as const) : ("line" as const),
    before: value.replace(ENRICHMENT, "$1"),
  }
}

function valueOfLine(text: string): string | undefined {
  if (!/^\{"topic":"[^"]*","partition":\d+,"offset":\d+,/.test(text)) return undefined
  // quotes within the members before it are escaped
  const at = text.indexOf(NAMED)
  return at === -1 ? undefined : text.trimEnd().slice(at + NAMED.length, -1)
}

/**
 * The body before it was enriched. These are the signed bytes, unless members of the same names were removed from them, or a
 * Decoder made the object.
 */
export function* beforeEnrichment(request: SignedRequest): Iterable<Candidate> {
  const record = readRecord(request.body)
  if (record === undefined) return
  for (const original of new Set([record.before, record.before.trimEnd()]))
    yield {
      mistake: { kind: "body_enriched", detail: "" },
      request: { ...request, body: Buffer.from(original) },
    }
}
