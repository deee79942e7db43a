import { readFileSync } from "node:fs"
import { Option, type Command } from "commander"
import { isConfigured } from "../config/file/load.ts"
import { loadForCommand } from "../runtime/load-for-command.ts"
import { planProviders } from "../runtime/plan/providers.ts"
import { suggest } from "../words.ts"
import { WrongValue } from "../config/options/option-types.ts"
import { HooklineError } from "../errors.ts"
import { whyUnreadable } from "../process/paths.ts"
import { toHeaderValue } from "../headers.ts"
import { repeatable } from "./common-flags.ts"
import {
  type OwnProvider,
  PROVIDER_NAMES,
  type ProviderRef,
  type SettingKey,
  SETTINGS,
  type VerifierSettings,
  WrongSetting,
} from "../verify/verification.ts"

/** The flags of `verify` and `send` for a provider and its settings. */
export interface VerifierFlags {
  readonly provider?: string
  /** The configuration file, for providers of its own. */
  readonly config?: string
  readonly secret?: readonly string[]
  readonly secretFile?: readonly string[]
  readonly publicKey?: readonly string[]
  readonly set?: readonly string[]
}

export const SECRETS_HELP = `Secrets on a command line end up in the shell's history and in the process list. Prefer --secret-file, or the variable
HOOKLINE_SECRET, which is read without --secret and --secret-file. A newline at the end of a secret file is ignored.
Secrets are never printed.`

/** @param configFlag `-c, --config` where the letter is free */
export function addVerifierFlags(command: Command, configFlag = "--config"): Command {
  return command
    .option(
      "-p, --provider <provider>",
      "preset, generic kind (hookline verify --list shows them), or [provider:<name>] of the file",
    )
    .option(
      `${configFlag} <file>`,
      "the configuration file, for its providers and pipelines; default: $HOOKLINE_CONFIG, or pipelines.conf",
    )
    .option("-s, --secret <secret>", "a secret as the provider shows it; repeatable; see below", repeatable)
    .option("--secret-file <file>", "a file with a secret, or several, one a line; repeatable", repeatable)
    .addOption(
      new Option(
        "--set <key=value>",
        "another key of the Verifier's section: header=X-Sig, payload=…; @file for a file's content; repeatable",
      ).argParser(repeatable),
    )
}

/**
 * The settings that the flags give.
 *
 * @throws HooklineError `usage`, `no_input`
 */
export function readSettings(
  flags: VerifierFlags,
  env: { readonly [name: string]: string | undefined },
): VerifierSettings {
  const named = [...(flags.secret ?? []), ...(flags.secretFile ?? []).flatMap(readSecrets)]
  const fromEnv = env["HOOKLINE_SECRET"] ?? ""
  const secret = named.length > 0 || fromEnv === "" ? named : [fromEnv]
  const settings: { [key in SettingKey]?: unknown } = {}
  if (secret.length > 0) settings.secret = secret
  const publicKeys = (flags.publicKey ?? []).map((file) => readInput(file).toString())
  if (publicKeys.length > 0) settings.public_key = publicKeys
  for (const text of flags.set ?? []) {
    const [key, value] = splitSetting(text)
    if (LISTS.includes(key)) settings[key] = [...((settings[key] as string[] | undefined) ?? []), value]
    else if (key in settings) throw usage(`duplicate --set ${key}`)
    else settings[key] = parseSetting(key, value)
  }
  return settings as VerifierSettings
}

/**
 * The preset or generic kind, or a provider of the configuration file.
 *
 * @throws HooklineError `usage` if it is missing or unknown; `config`, `no_input` for the file
 */
export function providerOf({ provider, config }: VerifierFlags): ProviderRef {
  if (provider === undefined)
    throw usage(
      "--pipeline or --provider is missing; hookline verify --list shows the providers, and --last explains the request that was refused last",
    )
  if (PROVIDER_NAMES.includes(provider)) return provider
  const own = ownProviders(config)
  const found = own.find(({ name }) => name === provider)
  if (found !== undefined) return found
  const names = [...PROVIDER_NAMES, ...own.map(({ name }) => name)]
  throw usage(`unknown provider ${provider}${suggest(provider, names, (it) => it)}`)
}

/** The providers of the configuration file; none if no file is named and there is none. */
export function ownProviders(config: string | undefined): readonly OwnProvider[] {
  return isConfigured(config) ? planProviders(loadForCommand(config)) : []
}

/** A wrong setting as a usage error. */
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
      headers.append(name, toHeaderValue(value.trim()))
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
    throw new HooklineError("no_input", `${file} ${whyUnreadable(error)}`, {
      cause: error,
    })
  }
}

export const usage = (message: string): HooklineError => new HooklineError("usage", message)

const readSecret = (file: string): string =>
  readInput(file)
    .toString()
    .replace(/\r?\n$/, "")

/** One a line, but for a PEM key. */
function readSecrets(file: string): readonly string[] {
  const text = readSecret(file)
  if (text.includes("-----BEGIN ")) return [text]
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "")
  return lines.length > 1 ? lines : [text]
}

const KEYS = Object.keys(SETTINGS) as SettingKey[]
/** Each flag has one value of these. */
const LISTS: readonly SettingKey[] = ["secret", "password", "public_key"]

function splitSetting(text: string): [SettingKey, string] {
  const [, name = "", value] = /^([^=]*)=(.*)$/s.exec(text) ?? []
  if (value === undefined) throw usage("--set is not of the form key=value")
  const key = KEYS.find((it) => it === name)
  if (key === undefined) throw usage(`--set: unknown key ${name}${suggest(name, KEYS, (it) => it)}`)
  return [key, value.startsWith("@") ? readSecret(value.slice(1)) : value]
}

/** Parses as the configuration does. */
function parseSetting(key: SettingKey, text: string): unknown {
  const { secret, form, parse } = SETTINGS[key]
  try {
    return parse(text, { baseDir: process.cwd() })
  } catch (error) {
    if (!(error instanceof WrongValue)) throw error
    throw usage(`--set ${key}: ${secret ? `is not ${form}` : error.message}`)
  }
}
