import { anyPrivateKey } from "../schemes/key-schemes.ts"
import { findFamily, makeSigner } from "../presets/providers.ts"
import type { Inquiry } from "./inquiry.ts"

/**
 * The provider's headers other than Content-Type, from an example signed with any key. None where only the provider can
 * sign.
 */
export async function exampleHeaders({ provider, settings, request, nowMs }: Inquiry): Promise<Headers> {
  const family = findFamily(provider)
  const type = request.headers.get("Content-Type")
  const headers = new Headers(type === null ? {} : { "Content-Type": type })
  const { method, body } = request
  const url = request.url || "https://example.com/"
  if (family?.signer === undefined) return new Headers()
  const given = family.requires.flat().includes("secret") ? settings.secret : undefined
  const secret = given ?? [
    family.family === "standard-webhooks" ? "whsec_AAAA" : anyPrivateKey(family.family),
  ]
  const signer = makeSigner(provider, { ...settings, secret })
  const signed = await signer.sign({ method, url, headers, body, id: "example" }, nowMs)
  const own = new Headers(signed.headers)
  own.delete("Content-Type")
  return own
}
