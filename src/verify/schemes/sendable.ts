import type { Sendable } from "../verifier.ts"

/** A copy of a request with headers set. */
export function withHeaders(
  { method, url, headers: given, body }: Sendable,
  added: { readonly [name: string]: string },
): Sendable {
  const headers = new Headers(given)
  for (const [name, value] of Object.entries(added)) headers.set(name, value)
  return { method, url, headers, body }
}
