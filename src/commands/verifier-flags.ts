import { readFileSync } from "node:fs"
import { Option, type Command } from "commander"
import { enumerate, suggest } from "../config/nearest.ts"
import { duration, WrongValue } from "../config/options.ts"
import { HooklineError } from "../errors.ts"
import { WrongSetting, type SettingKey, type VerifierSettings } from "../verify/family.ts"
import { PROVIDER_NAMES } from "../verify/providers.ts"

/** The flags that name a provider and its settings, of `verify` and `send` alike. */
export interface VerifierFlags {
  readonly provider?: string
  readonly secret?: readonly string[]
  readonly secretFile?: readonly string[]
  readonly publicKey?: readonly string[]
  readonly set?: readonly string[]
}

export const SECRETS_HELP = `
Where secrets come from: what stands on a command line ends up in the shell's history and in the process list. Prefer
--secret-file, or the environment: $HOOKLINE_SECRET is read where neither --secret nor --secret-file is given. One
newline at the end of such a file is not part of the secret. Secrets are never printed.`

/** A flag that may be given several times. */
export const repeatable = (value: string, before: readonly string[] = []): string[] => [...before, value]

export function addVerifierFlags(command: Command): Command {
  return command
    .option("-p, --provider <name>", "preset or generic kind (hookline verify --list shows them)")
    .option("-s, --secret <secret>", "a secret as the provider shows it; repeatable; see below", repeatable)
    .option("--secret-file <file>", "a file that holds a secret; repeatable", repeatable)
    .addOption(
      new Option(
        "--set <key=value>",
        "another key of the Verifier's section: header=X-Sig, payload=…; @file for a file's content; repeatable",
      ).argParser(repeatable),
    )
}

/**
 * The settings that the flags name.
 *
 * @throws HooklineError `usage`, `no_input`
 */
export function readSettings(
  flags: VerifierFlags,
  env: { readonly [name: string]: string | undefined },
): VerifierSettings {
  const named = [...(flags.secret ?? []), ...(flags.secretFile ?? []).map(readSecret)]
  const fromEnv = env["HOOKLINE_SECRET"] ?? ""
  const secret = named.length > 0 || fromEnv === "" ? named : [fromEnv]
  const settings: { [key in SettingKey]?: unknown } = {}
  if (secret.length > 0) settings.secret = secret
  const publicKeys = (flags.publicKey ?? []).map((file) => readInput(file).toString())
  if (publicKeys.length > 0) settings.public_key = publicKeys
  for (const text of flags.set ?? []) {
    const [key, value] = splitSetting(text)
    if (LISTS.includes(key)) settings[key] = [...((settings[key] as string[] | undefined) ?? []), value]
    else if (key in settings) throw usage(`--set ${key} is there twice`)
    else settings[key] = key === "tolerance" ? readTolerance(value) : checkWord(key, value)
  }
  return settings as VerifierSettings
}

/** The provider that the flags name. */
export function providerOf({ provider }: VerifierFlags): string {
  if (provider === undefined) throw usage("--provider is missing; hookline verify --list shows them")
  if (!PROVIDER_NAMES.includes(provider))
    throw usage(`there is no provider ${provider}${suggest(provider, PROVIDER_NAMES, (it) => it)}`)
  return provider
}

/** What a wrong setting says on a command line. */
export function toUsage(error: unknown): unknown {
  return error instanceof WrongSetting ? usage(error.message) : error
}

/**
 * The headers of flags like `Name: value`.
 *
 * @throws HooklineError `usage`
 */
export function readHeaders(flags: readonly string[]): Headers {
  const headers = new Headers()
  for (const flag of flags) {
    const [, name, value] = /^([^:\s]+):(.*)$/s.exec(flag) ?? []
    try {
      if (name === undefined || value === undefined) throw new TypeError("no name and value")
      headers.append(name, value.trim())
    } catch (error) {
      // the value may be a token
      throw new HooklineError("usage", `--header ${name ?? "…"}: is not of the form 'Name: value'`, {
        cause: error,
      })
    }
  }
  return headers
}

/**
 * A file's bytes; `-` is standard input.
 *
 * @throws HooklineError `no_input`
 */
export function readInput(file: string): Buffer {
  try {
    return readFileSync(file === "-" ? 0 : file)
  } catch (error) {
    throw new HooklineError("no_input", `${file} can't be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

export const usage = (message: string): HooklineError => new HooklineError("usage", message)

const readSecret = (file: string): string =>
  readInput(file)
    .toString()
    .replace(/\r?\n$/, "")

const LISTS: readonly SettingKey[] = ["secret", "password", "public_key"]
const WORDS: { readonly [key in SettingKey]?: readonly string[] } = {
  algorithm: ["sha1", "sha256", "sha512"],
  encoding: ["hex", "base64", "base64url"],
  verify_online: ["true", "false"],
  min_version: ["1", "2", "3"],
  require_exp: ["true", "false"],
}
const KEYS = [
  "secret",
  "tolerance",
  "header",
  "algorithm",
  "encoding",
  "prefix",
  "payload",
  "timestamp_header",
  "id_header",
  "query",
  "username",
  "password",
  "issuer",
  "audience",
  "jwks_url",
  "public_key",
  "email",
  "topic_arn",
  "webhook_id",
  "verify_online",
  "api",
  "client_id",
  "client_secret",
  "min_version",
  "require_exp",
] as const satisfies readonly SettingKey[]

function splitSetting(text: string): [SettingKey, string] {
  const [, name = "", value] = /^([^=]*)=(.*)$/s.exec(text) ?? []
  if (value === undefined) throw usage("--set is not of the form key=value")
  const key = KEYS.find((it) => it === name)
  if (key === undefined) throw usage(`--set: there is no key ${name}${suggest(name, KEYS, (it) => it)}`)
  return [key, value.startsWith("@") ? readSecret(value.slice(1)) : value]
}

function readTolerance(text: string): number {
  try {
    return TOLERANCE.parse(text, { baseDir: "." })
  } catch (error) {
    if (error instanceof WrongValue) throw usage(`--set tolerance: ${error.message}`)
    throw error
  }
}
const TOLERANCE = duration({ doc: "Time that a signed time may be off." })

function checkWord(key: SettingKey, value: string): string {
  const words = WORDS[key]
  if (words !== undefined && !words.includes(value))
    throw usage(`--set ${key}: is none of ${enumerate(words)}`)
  return value
}
