import type { AsymmetricForm } from "../schemes/asymmetric.ts"
import { WrongSetting, type Family } from "../schemes/family.ts"
import type { JwtForm } from "../schemes/jwt.ts"

/*
 * In `hookline/verify` this takes the place of the schemes that need node:crypto: those of certificates, key pairs and JSON Web
 * Tokens.
 */

const serverOnly = (_form?: unknown): Family => ({
  family: "server",
  requires: [],
  covers: () => ({ body: "none", time: false, id: false }),
  verifier() {
    throw new WrongSetting("provider", "it is verified by hookline/verify/server, on Node.js, Bun or Deno")
  },
})

export const awsSns: () => Family = serverOnly
export const paypal: () => Family = serverOnly
export const jwt: (form: JwtForm) => Family = serverOnly
export const ed25519Signature: (form: AsymmetricForm) => Family = serverOnly
export const ecdsaSignature: (form: AsymmetricForm) => Family = serverOnly
export const rsaSignature: (form: AsymmetricForm) => Family = serverOnly

export const SYMMETRIC: readonly string[] = []
export const ASYMMETRIC: readonly string[] = []

/** No scheme that is left has a key pair. */
export const anyPrivateKey = (family: string): never => {
  throw new Error(`no example of ${family}`)
}

/** Of Microsoft Graph, whose notifications without resource data have no tokens. */
export const graphTokens = () => (): never => {
  throw new WrongSetting(
    "provider",
    "validationTokens are verified by hookline/verify/server, on Node.js, Bun or Deno",
  )
}
