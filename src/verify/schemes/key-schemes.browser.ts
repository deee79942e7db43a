import type { Fetcher } from "../fetch/fetcher.ts"
import type { Refused } from "../verifier.ts"
import { WrongSetting, type Family, type VerifierSettings } from "./family.ts"
import type { AsymmetricForm } from "./hmac-form.ts"
import type { JwtForm } from "./jwt-form.ts"

/* In the place of key-schemes.ts: what needs node:crypto is verified by hookline/verify/server. */

const serverOnly = (..._form: readonly unknown[]): Family => ({
  family: "server",
  requires: [],
  covers: () => ({ body: "none", time: false, id: false }),
  verifier() {
    throw new WrongSetting("provider", "it is verified by hookline/verify/server, on Node.js, Bun or Deno")
  },
})

type Adapt = (settings: VerifierSettings) => AsymmetricForm

export const awsSns: () => Family = serverOnly
export const paypal: () => Family = serverOnly
export const jwt: (form: JwtForm) => Family = serverOnly
export const ed25519Signature: (form: AsymmetricForm, adapt?: Adapt) => Family = serverOnly
export const ecdsaSignature: (form: AsymmetricForm, adapt?: Adapt) => Family = serverOnly
export const rsaSignature: (form: AsymmetricForm) => Family = serverOnly

/** No scheme that is left has a key pair. */
export const anyPrivateKey = (family: string): never => {
  throw new Error(`no example of ${family}`)
}

/** Of Microsoft Graph, whose notifications without resource data have no tokens. */
export const graphTokens =
  (_settings: VerifierSettings, _fetcher: Fetcher) =>
  (_tokens: readonly unknown[], _nowMs: number): Promise<Refused | undefined> => {
    throw new WrongSetting(
      "provider",
      "validationTokens are verified by hookline/verify/server, on Node.js, Bun or Deno",
    )
  }
