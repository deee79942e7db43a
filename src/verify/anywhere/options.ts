import { WrongSetting, type VerifierSettings } from "../schemes/family.ts"

/** What a scheme is verified by. Each provider needs some of them: see docs/providers.md. */
export interface VerifySettings {
  /** One or several; any may match, for rotation. */
  readonly secret?: string | readonly string[] | undefined
  /** PEM, JWK, base64 of DER, or the raw key of Ed25519; any of several may match. */
  readonly publicKey?: string | readonly string[] | undefined
  /** How far a signed time may be off, in milliseconds or as "5m"; 0: unchecked; default: the provider's. */
  readonly tolerance?: number | `${number}${"ms" | "s" | "m" | "h" | "d"}` | undefined
  /** The header of the signature or token. */
  readonly header?: string | undefined
  readonly algorithm?: "sha1" | "sha256" | "sha512" | undefined
  readonly encoding?: "hex" | "base64" | "base64url" | undefined
  /** `sha256=` */
  readonly prefix?: string | undefined
  /** The signed text, with {timestamp}, {id}, {method}, {url} and {body}. */
  readonly payload?: string | undefined
  readonly timestampHeader?: string | undefined
  readonly idHeader?: string | undefined
  /** The query parameter of the token. */
  readonly query?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | readonly string[] | undefined
  readonly issuer?: string | undefined
  readonly audience?: string | undefined
  readonly jwksUrl?: string | undefined
  readonly email?: string | undefined
  readonly topicArn?: string | undefined
  readonly webhookId?: string | undefined
  readonly minVersion?: "1" | "2" | "3" | undefined
}

const LISTS = ["secret", "publicKey", "password"]
const UNITS: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** As the configuration file has them. @throws TypeError */
export function toSettings(given: VerifySettings): VerifierSettings {
  const entries = Object.entries(given).flatMap(([name, value]) => {
    if (value === undefined) return []
    const key = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    return [[key, name === "tolerance" ? toMs(value) : LISTS.includes(name) ? [value].flat() : value]]
  })
  return Object.fromEntries(entries) as VerifierSettings
}

/** @throws TypeError */
export function toMs(value: unknown): number {
  const [, number, unit = ""] = /^(\d+(?:\.\d+)?)(ms|[smhd])$/.exec(String(value)) ?? []
  const ms = typeof value === "number" ? value : Number(number) * UNITS[unit]!
  if (!(Number.isFinite(ms) && ms >= 0))
    throw new TypeError('tolerance is neither milliseconds nor a duration such as "5m"')
  return ms
}

/** Names options as code does. */
export function inCode<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof WrongSetting)) throw error
    const name = error.key.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
    throw new TypeError(name + error.message.slice(error.key.length), { cause: error })
  }
}
