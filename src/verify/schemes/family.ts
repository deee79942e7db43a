import { messageInFile, type Message } from "../../message.ts"
import { HooklineError, type OptionProblem } from "../../errors.ts"
import type { Fetcher } from "../fetch/fetcher.ts"
import type { Signer, Verifier } from "../verifier.ts"

/** What a verifier is made from, by the keys of the configuration file. The options are in ../settings.ts. */
export interface VerifierSettings {
  readonly secret?: readonly string[] | undefined
  /** In milliseconds. */
  readonly tolerance?: number | undefined
  readonly header?: string | undefined
  readonly algorithm?: "sha1" | "sha256" | "sha512" | undefined
  readonly encoding?: "hex" | "base64" | "base64url" | undefined
  readonly prefix?: string | undefined
  readonly payload?: string | undefined
  readonly timestamp_header?: string | undefined
  readonly id_header?: string | undefined
  readonly query?: string | undefined
  readonly username?: string | undefined
  readonly password?: readonly string[] | undefined
  readonly issuer?: string | undefined
  readonly audience?: string | undefined
  readonly jwks_url?: string | undefined
  readonly public_key?: readonly string[] | undefined
  readonly email?: string | undefined
  readonly topic_arn?: string | undefined
  readonly webhook_id?: string | undefined
  readonly verify_online?: "true" | "false" | undefined
  readonly api?: string | undefined
  readonly client_id?: string | undefined
  readonly client_secret?: string | undefined
  readonly min_version?: "1" | "2" | "3" | undefined
  readonly require_exp?: "true" | "false" | undefined
}

export type SettingKey = keyof VerifierSettings

/** What a valid signature covers. */
export interface Coverage {
  /** Every byte; a form's parameters, joined without separators; some members; the CRC-32, which is forgeable; nothing. */
  readonly body: "whole" | "form" | "part" | "checksum" | "none"
  readonly time: boolean
  /** Whether the delivery's id is covered. */
  readonly id: boolean
  /** Names of headers other than the signature's, in lower case; default: none. */
  readonly headers?: readonly string[]
  /** Whether the URL is covered; default: it is not. */
  readonly url?: boolean
  /**
   * Headers with the signature, in lower case: with them, `headers`, the URL and the body it verifies again. Default: none,
   * since it is in the body or query.
   */
  readonly signature?: readonly string[]
  readonly isInQuery?: boolean
  /** Whether the signature may be in the body, in place of the headers. */
  readonly isInBody?: boolean
  /** Where a secret is sent as it is, not a signature: the header, in lower case, or query parameter; neither: the body. */
  readonly credential?: { readonly header?: string | undefined; readonly query?: string | undefined }
  /** The top-level member of the body with the signed time, which is another one in each attempt of a delivery. */
  readonly renewed?: string | undefined
}

/** Whether a request has one of the headers with the signature or credential, or may have it elsewhere. */
export function mayBeSigned(covers: Coverage, headers: Headers): boolean {
  const { signature = [], credential, isInBody = false } = covers
  const names = credential?.header === undefined ? signature : [credential.header]
  return isInBody || names.length === 0 || names.some((name) => headers.has(name))
}

/** A verification scheme, apart from its settings. */
export interface Family {
  /** The kind of scheme, for lists: `hmac`, `token`. */
  readonly family: string
  /** The required keys: one of these lists. */
  readonly requires: readonly (readonly SettingKey[])[]
  /** Further keys, in addition to `tolerance`, which every family with a tolerance has. */
  readonly optional?: readonly SettingKey[] | undefined
  /** The spelling of a secret in a few words, if there is one. */
  readonly secretForm?: string | undefined
  /** The default tolerance in milliseconds; 0: unchecked; undefined: no time is signed. */
  readonly toleranceMs?: number | undefined
  readonly signsUrl?: boolean | undefined
  /** The length of the HMAC key that a well-formed secret gives; undefined: secrets are no such keys. */
  readonly keyBytes?: ((settings: VerifierSettings) => ((secret: string) => number) | undefined) | undefined
  /** The coverage with valid settings. */
  readonly covers: (settings: VerifierSettings) => Coverage
  /** @throws WrongSetting for a malformed value */
  verifier(settings: VerifierSettings, fetcher: Fetcher): Verifier
  /** undefined: only the provider can sign. */
  readonly signer?: ((settings: VerifierSettings) => Signer) | undefined
}

/** A verifier's key is missing or malformed. */
export class WrongSetting extends HooklineError {
  readonly key: SettingKey | "provider"
  readonly problem: OptionProblem
  /** The problem and its remedy, without the key and without a secret. */
  readonly text: Message

  constructor(key: SettingKey | "provider", text: Message, problem: OptionProblem = "invalid_value") {
    super("config", `${key}: ${messageInFile(text)}`)
    this.name = "WrongSetting"
    this.key = key
    this.problem = problem
    this.text = text
  }
}

/** `secret, or username and password` */
export const describeRequired =
  ({ requires }: Pick<Family, "requires">): Message =>
  ({ option }) =>
    requires.map((keys) => keys.map(option).join(" and ")).join(", or ")

/** The values of a required key. */
export function listOf(
  settings: VerifierSettings,
  key: "secret" | "password" | "public_key",
): readonly string[] {
  const values = settings[key] ?? []
  if (values.length === 0) throw new WrongSetting(key, "is missing", "missing_key")
  if (values.length > MOST_KEYS) throw new WrongSetting(key, `has more than ${MOST_KEYS} values`)
  if (values.includes("")) throw new WrongSetting(key, "is empty")
  return values
}

/** The value of a required key. */
export function textOf(
  settings: VerifierSettings,
  key: Exclude<SettingKey, "secret" | "password" | "public_key" | "tolerance">,
): string {
  const value = settings[key]
  if (value === undefined || value === "") throw new WrongSetting(key, "is missing", "missing_key")
  return value
}

/** Keys and, of one request, signatures: the product bounds the work that a request can cause. */
const MOST_KEYS = 16
export const MOST_SIGNATURES = 16
