import type { Command } from "commander"
import { escapeControls } from "../telemetry/escape-controls.ts"
import { parseTime } from "../verify/schemes/freshness.ts"
import { makeVerifier, type ProviderRef } from "../verify/presets/providers.ts"
import { diagnose } from "../verify/explain/diagnosis.ts"
import { reportOf } from "../verify/explain/report.ts"
import { WrongSetting, type VerifierSettings } from "../verify/schemes/family.ts"
import type { SignedRequest } from "../verify/verifier.ts"
import { addDetails } from "./details.ts"
import { listProviders } from "./list-providers.ts"
import { headingOf, toJson, toText } from "./verify-report.ts"
import {
  addVerifierFlags,
  ownProviders,
  providerOf,
  readHeaders,
  readInput,
  readSettings,
  repeatable,
  SECRETS_HELP,
  toUsage,
  usage,
  type VerifierFlags,
} from "./verifier-flags.ts"

export interface VerifyFlags extends VerifierFlags {
  readonly list?: boolean
  readonly json?: boolean
  readonly header?: readonly string[]
  readonly body?: string
  readonly url?: string
  readonly method: string
  readonly now?: string
}

export function declareVerify(program: Command): void {
  addVerifierFlags(
    addDetails(program.command("verify"), {
      notes: `${SECRETS_HELP}

Exit status: 0 if the request is verified, 1 if it is refused, 64 for a usage error, 66 for an unreadable file.`,
      example: 'hookline verify -p github --secret-file secret -b body -H "X-Hub-Signature-256: sha256=…"',
    }),
  )
    .description(
      "explain step by step why a captured request is verified or refused, and find the likely mistake",
    )
    .option("--list", "list the providers and generic kinds with their required keys, and exit")
    .option("--public-key <file>", "a file with a public key; repeatable", repeatable)
    .option("-H, --header <header>", "a header of the request, 'Name: value'; repeatable", repeatable)
    .option("-b, --body <file>", "the request's raw body; - for standard input")
    .option("-u, --url <url>", "the URL registered with the provider, for providers that sign it")
    .option("-X, --method <method>", "the request's method", "POST")
    .option("--now <time>", "check the signed time as of then: RFC 3339, or seconds since 1970")
    .option("--json", "print JSON")
    .action((flags: VerifyFlags) => verify(flags))
}

/** Verifies a captured request and explains the result; exit status 0 if verified, else 1. */
export async function verify(flags: VerifyFlags): Promise<void> {
  if (flags.list === true)
    return listProviders(flags.config === undefined ? [] : ownProviders(flags.config), flags.json === true)
  const provider = providerOf(flags)
  const settings = readSettings(flags, process.env)
  const request = readRequest(flags, requiresBody(provider, settings))
  const nowMs = flags.now === undefined ? Date.now() : readTime(flags.now)
  const inquiry = { provider, settings, request, nowMs }
  const diagnosis = await diagnose(inquiry)
  const report = await reportOf(inquiry, diagnosis)
  const shown = flags.json === true ? toJson(report, inquiry, diagnosis) : toText(report, headingOf(provider))
  console.log(escapeControls(shown))
  process.exitCode = report.is_verified ? 0 : 1
}

function requiresBody(provider: ProviderRef, settings: VerifierSettings): boolean {
  try {
    return makeVerifier(provider, settings).needs === "body"
  } catch (error) {
    throw toUsage(whiteSpaceError(error, provider, settings) ?? error)
  }
}

/** The error, if white space around a secret is its only cause. */
function whiteSpaceError(
  error: unknown,
  provider: ProviderRef,
  settings: VerifierSettings,
): WrongSetting | undefined {
  if (!(error instanceof WrongSetting) || settings.secret === undefined) return undefined
  try {
    makeVerifier(provider, { ...settings, secret: settings.secret.map((it) => it.trim()) })
  } catch (stillWrong) {
    if (stillWrong instanceof WrongSetting) return undefined
    throw stillWrong
  }
  return new WrongSetting("secret", "has white space around it; remove it")
}

function readRequest(flags: VerifyFlags, bodyRequired: boolean): SignedRequest {
  const headers = readHeaders(flags.header ?? [])
  if (flags.body === undefined && bodyRequired)
    throw usage("--body is missing; give the file with the raw body, or -")
  const body = flags.body === undefined ? new Uint8Array() : readInput(flags.body)
  const url = flags.url ?? `http://${headers.get("Host") ?? "localhost"}/`
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw usage("--url is not an http or https URL")
  const [, path = "", query = ""] = /^[^/]*\/\/[^/?#]*([^?#]*)(?:\?([^#]*))?/.exec(url) ?? []
  return { method: flags.method.toUpperCase(), url, path: path || "/", query, headers, body }
}

function readTime(text: string): number {
  const ms = parseTime(text, "any")
  if (ms === undefined) throw usage("--now is neither RFC 3339 nor seconds or milliseconds since 1970")
  return ms
}
