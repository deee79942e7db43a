import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { keysFor, type ScramHash, type Users } from "./credentials.ts"

/** The client's message is answered with another, or refused. `user`: who the client has shown to be. */
export type SaslStep = { readonly reply: Uint8Array; readonly user?: string } | "refused"

/** The server's side of SCRAM, without channel binding: https://www.rfc-editor.org/rfc/rfc5802#section-5 */
export class ScramServer {
  readonly #users: Users
  readonly #hash: ScramHash
  #name = ""
  #nonce = ""
  /** What both sides sign, but for the client's last message. */
  #signed: string | undefined

  constructor(users: Users, hash: ScramHash) {
    this.#users = users
    this.#hash = hash
  }

  next(message: Uint8Array): SaslStep {
    const text = Buffer.from(message).toString()
    return this.#signed === undefined ? this.#first(text) : this.#last(text, this.#signed)
  }

  #first(text: string): SaslStep {
    const [, bare, name, nonce] = /^[ny],(?:a=[^,]*)?,(n=([^,]*),r=([^,]+)(?:,.*)?)$/.exec(text) ?? []
    if (bare === undefined) return "refused"
    this.#name = name!.replaceAll("=2C", ",").replaceAll("=3D", "=")
    this.#nonce = `${nonce!}${randomBytes(18).toString("base64url")}`
    const { salt, iterations } = keysFor(this.#users, this.#name, this.#hash)
    const reply = `r=${this.#nonce},s=${Buffer.from(salt).toString("base64")},i=${iterations}`
    this.#signed = `${bare},${reply}`
    return { reply: Buffer.from(reply) }
  }

  #last(text: string, signed: string): SaslStep {
    const [, bare, nonce, proof] = /^(c=(?:biws|eSws),r=([^,]+)),p=([A-Za-z0-9+/]+=*)$/.exec(text) ?? []
    // older librdkafka has its own part of it twice; Kafka takes that, too: https://github.com/confluentinc/librdkafka/pull/4895
    if (bare === undefined || nonce?.endsWith(this.#nonce) !== true) return "refused"
    const { storedKey, serverKey } = keysFor(this.#users, this.#name, this.#hash)
    const all = `${signed},${bare}`
    const signature = createHmac(this.#hash, storedKey).update(all).digest()
    const given = Buffer.from(proof!, "base64")
    if (given.length !== signature.length) return "refused"
    const clientKey = given.map((byte, at) => byte ^ signature[at]!)
    const isRight = timingSafeEqual(createHash(this.#hash).update(clientKey).digest(), storedKey)
    if (!isRight || !this.#users.byName.has(this.#name)) return "refused"
    const verifier = createHmac(this.#hash, serverKey).update(all).digest("base64")
    return { reply: Buffer.from(`v=${verifier}`), user: this.#name }
  }
}
