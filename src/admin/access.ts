import { createHash, timingSafeEqual } from "node:crypto"

export interface Access {
  /** The bearer token that callers must present; undefined: none. */
  readonly token?: string | undefined
  /** Accepted values of Host, beside `localhost`, IP addresses and the host that it listens on. */
  readonly hosts?: readonly string[] | undefined
}

/** Whether a request presents the token, as `Authorization: Bearer`; without a token every request does. */
export type TokenTest = (request: Request) => boolean

/** Compares digests in constant time, so that timing reveals neither the token's length nor a prefix. */
export function tokenTest(token: string | undefined): TokenTest {
  const isToken = token === undefined ? undefined : sameAs(`Bearer ${token}`)
  return isToken === undefined ? () => true : (request) => isToken(request.headers.get("authorization") ?? "")
}

/** Whether a text is the secret one, in constant time. */
export function sameAs(secret: string): (text: string) => boolean {
  const digest = (value: string): Buffer => createHash("sha256").update(value).digest()
  const expected = digest(secret)
  return (text) => timingSafeEqual(digest(text), expected)
}
