import { findDuplicateName } from "../json/duplicates.ts"
import { Refused } from "./verifier.ts"

/**
 * The body as JSON; undefined when it is none. For schemes that sign members of the body: refused where an object has two
 * members of one name, since consumers may read the one that was not verified.
 */
export function readSignedJson(body: Uint8Array): unknown {
  const json = readJson(body)
  const position = json === undefined ? undefined : findDuplicateName(body, json)
  return position === undefined
    ? json
    : new Refused("duplicate_member", `the member name at byte ${position} is there twice in its object`)
}

/** The body as JSON; undefined when it is none. */
export function readJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString())
  } catch {
    return undefined
  }
}

/** A member of an object, when it has one of its own of this name. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as { readonly [name: string]: unknown })[name]
    : undefined
}

/** A text or number at the top of a JSON body, as text; undefined when there is none. Refused as `readSignedJson` does. */
export function readMember(body: Uint8Array, name: string): string | undefined | Refused {
  const json = readSignedJson(body)
  if (json instanceof Refused) return json
  const value = member(json, name)
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined
}

/** The body with a member set at its top; one that is no JSON object is returned as it is. */
export function withMember(body: Uint8Array, name: string, value: unknown): Uint8Array {
  const json = readJson(body)
  if (typeof json !== "object" || json === null || Array.isArray(json)) return body
  return Buffer.from(JSON.stringify({ ...json, [name]: value }))
}
