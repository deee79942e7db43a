/** A check of a request's signature or token at little cost: without public-key work and without the network. */
export interface QuickCheck {
  /** Whether the body is needed for it, too. */
  readonly needsBody: boolean
  /** Whether a request with these headers may have a signature or token. */
  isSigned(headers: Headers): boolean
}

/** All of them as one; undefined: one of them takes more, or there are none. */
export function joinChecks(all: readonly (QuickCheck | undefined)[]): QuickCheck | undefined {
  const checks = all.flatMap((it) => it ?? [])
  if (checks.length === 0 || checks.length < all.length) return undefined
  return {
    needsBody: checks.some(({ needsBody }) => needsBody),
    isSigned: (headers) => checks.every((it) => it.isSigned(headers)),
  }
}
