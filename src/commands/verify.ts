import { escapeControls } from "../telemetry/escape-controls.ts"
import { parseTime } from "../verify/schemes/freshness.ts"
import { makeVerifier, type ProviderRef } from "../verify/presets/providers.ts"
import { diagnose } from "../verify/explain/diagnosis.ts"
import { WrongSetting, type VerifierSettings } from "../verify/schemes/family.ts"
import { Verified, type SignedRequest } from "../verify/verifier.ts"
import { concealer } from "./conceal.ts"
import { listProviders } from "./list-providers.ts"
import { report } from "./verify-report.ts"
import {
  ownProviders,
  providerOf,
  readHeaders,
  readInput,
  readSettings,
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
  console.log(escapeControls(await report(inquiry, diagnosis, concealer(settings))))
  process.exitCode = diagnosis.explanation.result instanceof Verified ? 0 : 1
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
