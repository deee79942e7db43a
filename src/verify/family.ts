import { HooklineError } from "../errors.ts"
import type { Signer, Verifier } from "./verifier.ts"

/** The options of a verifier, by their keys in the configuration file. */
export interface VerifierSettings {
  /** Any may match. In the scheme's own spelling, see `secretForm` of its row. */
  readonly secret?: readonly string[] | undefined
  /** Milliseconds that a signed time may be off, both ways; 0 turns the check off; undefined: the provider's. */
  readonly tolerance?: number | undefined
  readonly header?: string | undefined
  readonly algorithm?: "sha1" | "sha256" | "sha512" | undefined
  readonly encoding?: "hex" | "base64" | "base64url" | undefined
  readonly prefix?: string | undefined
  /** Template of what is signed, see payload.ts. */
  readonly payload?: string | undefined
  readonly timestamp_header?: string | undefined
  readonly id_header?: string | undefined
  /** Name of a query parameter. */
  readonly query?: string | undefined
  readonly username?: string | undefined
  /** Any may match. */
  readonly password?: readonly string[] | undefined
  readonly issuer?: string | undefined
  readonly audience?: string | undefined
  readonly jwks_url?: string | undefined
  /** Any may match. PEM, base64 of DER (SPKI), a JWK as JSON, or the raw key in hex or base64 for Ed25519. */
  readonly public_key?: readonly string[] | undefined
  /** The service account that Google signs for. */
  readonly email?: string | undefined
  /** The Amazon SNS topic that may send. */
  readonly topic_arn?: string | undefined
  /** PayPal's id of the webhook, part of what it signs. */
  readonly webhook_id?: string | undefined
  /** Whether PayPal's API is asked about each event, too. */
  readonly verify_online?: "true" | "false" | undefined
  /** Of PayPal's API: `live`, `sandbox` or a URL. */
  readonly api?: string | undefined
  readonly client_id?: string | undefined
  readonly client_secret?: string | undefined
  /** The oldest version of HubSpot's signatures that is taken. */
  readonly min_version?: "1" | "2" | "3" | undefined
  /** Whether a JWT must have `exp`. */
  readonly require_exp?: "true" | "false" | undefined
}

export type SettingKey = keyof VerifierSettings

/** What verifiers reach the outside with; tests put their own in. */
export interface Outside {
  /** Gets keys and certificates. */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
  /** PEM certificates of the authorities that are trusted to sign others. */
  readonly rootCertificates: readonly string[]
}

/** What a right signature proves beside who made it. */
export interface Coverage {
  /**
   * How much of the body is signed: every byte; a form's parameters, joined without separators; some members of it; its
   * CRC-32, for which anybody can find another body; nothing.
   */
  readonly body: "whole" | "form" | "part" | "checksum" | "none"
  /** Whether a time is signed. */
  readonly time: boolean
  /** Whether an id of the delivery is signed. */
  readonly id: boolean
}

/** A way to verify, apart from its settings. */
export interface Family {
  /** What kind of scheme it is, for lists: `hmac`, `token`. */
  readonly family: string
  /** The keys that must be set; of several lists, one. */
  readonly requires: readonly (readonly SettingKey[])[]
  /** Keys that may be set beside them. */
  readonly optional: readonly SettingKey[]
  /** How a secret is spelled, in a few words; undefined where there is none. */
  readonly secretForm: string | undefined
  /** The tolerance where none is set, in milliseconds; 0: the time is not checked; undefined: none is signed. */
  readonly toleranceMs: number | undefined
  readonly signsUrl: boolean
  /**
   * Says how many bytes of key a secret gives an HMAC; undefined, or giving undefined with these settings: secrets are no
   * such keys. Asked of secrets of the right form.
   */
  readonly keyBytes?: ((settings: VerifierSettings) => ((secret: string) => number) | undefined) | undefined
  /** What is signed with these settings, which are right. */
  readonly covers: (settings: VerifierSettings) => Coverage
  /** @throws WrongSetting for a key whose value has a wrong form */
  verifier(settings: VerifierSettings, outside: Outside): Verifier
  /** undefined where nobody but the provider can sign. */
  readonly signer: ((settings: VerifierSettings) => Signer) | undefined
}

/** A key of a verifier is missing or has not the form that the scheme wants. */
export class WrongSetting extends HooklineError {
  readonly key: SettingKey | "provider"

  /** @param text what is wrong and what would be right, without the key and without a secret */
  constructor(key: SettingKey | "provider", text: string) {
    super("config", `${key}: ${text}`)
    this.name = "WrongSetting"
    this.key = key
  }
}

/** The values of a key that must be there. */
export function listOf(
  settings: VerifierSettings,
  key: "secret" | "password" | "public_key",
): readonly string[] {
  const values = settings[key] ?? []
  if (values.length === 0) throw new WrongSetting(key, "is missing")
  if (values.length > MOST_KEYS) throw new WrongSetting(key, `has more than ${MOST_KEYS} values`)
  if (values.includes("")) throw new WrongSetting(key, "is empty")
  return values
}

/** The value of a key that must be there. */
export function textOf(
  settings: VerifierSettings,
  key: Exclude<SettingKey, "secret" | "password" | "public_key" | "tolerance">,
): string {
  const value = settings[key]
  if (value === undefined || value === "") throw new WrongSetting(key, "is missing")
  return value
}

/** Bounds the work that one request can cause: secrets times signatures. */
const MOST_KEYS = 16
/** Signatures of one request that are looked at. */
export const MOST_SIGNATURES = 16
