import type { SettingKey } from "./family.ts"

/** A scheme of JSON Web Tokens (RFC 7519) as data. */
export interface JwtForm {
  /** The token's header; default: a bearer token (RFC 6750). */
  readonly header?: string
  /** Default of the setting: the required `iss`. */
  readonly issuer?: string | readonly string[]
  /** Default of the setting. */
  readonly jwksUrl?: string
  readonly algorithms: readonly string[]
  /** The claim that holds the body's SHA-256. */
  readonly bodyHash?: { readonly claim: string; readonly encoding: "hex" | "base64" }
  /** Whether the tolerance limits the token's age by `iat`, in addition to being leeway for `exp` and `nbf`. */
  readonly limitsAge?: boolean
  /** Whether `exp` is required unless `require_exp` is false: without it a captured token never expires. */
  readonly requiresExp?: boolean
  /** As in `Family`. */
  readonly toleranceMs?: number
  readonly requires: readonly (readonly SettingKey[])[]
  readonly optional?: readonly SettingKey[]
}

export const SYMMETRIC = ["HS256", "HS384", "HS512"]
export const ASYMMETRIC = ["RS", "PS", "ES"]
  .flatMap((family) => [`${family}256`, `${family}384`, `${family}512`])
  .concat("EdDSA", "Ed25519")
