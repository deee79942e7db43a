/** The body as JSON; undefined when it is none. For schemes that keep signatures in the body. */
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

/** A text or number at the top of a JSON body, as text; undefined when there is none. */
export function readMember(body: Uint8Array, name: string): string | undefined {
  const value = member(readJson(body), name)
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined
}

/** The body with a member set at its top; one that is no JSON object is returned as it is. */
export function withMember(body: Uint8Array, name: string, value: unknown): Uint8Array {
  const json = readJson(body)
  if (typeof json !== "object" || json === null || Array.isArray(json)) return body
  return Buffer.from(JSON.stringify({ ...json, [name]: value }))
}
