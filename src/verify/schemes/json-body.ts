import { Buffer } from "node:buffer"
import { findDuplicateName } from "../../json/duplicates.ts"
import { readJson } from "../../json/read.ts"
import { Refused } from "../verifier.ts"

/**
 * Parses the body for schemes that sign some of its members; undefined: not JSON. Duplicate member names are refused, since
 * consumers may read the unverified one.
 */
export function readSignedJson(body: Uint8Array): unknown {
  const json = readJson(body)
  const position = json === undefined ? undefined : findDuplicateName(body, json)
  return position === undefined
    ? json
    : new Refused("duplicate_member", `duplicate member name at byte ${position}`)
}

/** An own property of an object, else undefined. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as { readonly [name: string]: unknown })[name]
    : undefined
}

/** A top-level string or number of a JSON body, as text. Refuses as `readSignedJson` does. */
export function readMember(body: Uint8Array, name: string): string | undefined | Refused {
  const json = readSignedJson(body)
  if (json instanceof Refused) return json
  const value = member(json, name)
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined
}

/** The body with a top-level member set; returned unchanged if it is not a JSON object. */
export function withMember(body: Uint8Array, name: string, value: unknown): Uint8Array {
  const json = readJson(body)
  if (typeof json !== "object" || json === null || Array.isArray(json)) return body
  return Buffer.from(JSON.stringify({ ...json, [name]: value }))
}
