import { generateKeyPairSync } from "node:crypto"
import type { VerifierSettings } from "./family.ts"
import { findFamily, makeSigner } from "./providers.ts"
import type { SignedRequest } from "./verifier.ts"

/**
 * The headers that a request of the provider has beside Content-Type: those of an example, signed by any key. None where
 * nobody but the provider can sign.
 */
export async function exampleHeaders({
  provider,
  settings,
  request,
  nowMs,
}: {
  readonly provider: string
  readonly settings: VerifierSettings
  readonly request: SignedRequest
  readonly nowMs: number
}): Promise<Headers> {
  const family = findFamily(provider)
  const type = request.headers.get("Content-Type")
  const headers = new Headers(type === null ? {} : { "Content-Type": type })
  const { method, body } = request
  const url = request.url || "https://example.com/"
  if (family?.signer === undefined) return new Headers()
  const given = family.requires.flat().includes("secret") ? settings.secret : undefined
  const secret = given ?? [anyKey(family.family)]
  const signer = makeSigner(provider, { ...settings, secret })
  const signed = await signer.sign({ method, url, headers, body, id: "example" }, nowMs)
  const own = new Headers(signed.headers)
  own.delete("Content-Type")
  return own
}

function anyKey(family: string): string {
  if (family === "standard-webhooks") return "whsec_AAAA"
  const { privateKey } =
    family === "ed25519" ? generateKeyPairSync("ed25519") : generateKeyPairSync("ec", { namedCurve: "P-256" })
  return privateKey.export({ format: "pem", type: "pkcs8" }).toString()
}
