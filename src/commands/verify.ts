import { escapeControls } from "../telemetry/escape-controls.ts"
import { parseTime } from "../verify/freshness.ts"
import { findFamily, makeVerifier, PROVIDER_NAMES, describeRequired } from "../verify/providers.ts"
import { diagnose } from "../verify/diagnosis.ts"
import { WrongSetting, type VerifierSettings } from "../verify/family.ts"
import { PRESETS } from "../verify/presets.ts"
import { Verified, type SignedRequest } from "../verify/verifier.ts"
import { concealer } from "./conceal.ts"
import { report } from "./verify-report.ts"
import {
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
  readonly header?: readonly string[]
  readonly body?: string
  readonly url?: string
  readonly method: string
  readonly now?: string
}

/** Explains whether a captured request is from its provider, step by step; the exit status is 0 when it is, else 1. */
export async function verify(flags: VerifyFlags): Promise<void> {
  if (flags.list === true) return listProviders()
  const provider = providerOf(flags)
  const settings = readSettings(flags, process.env)
  const request = readRequest(flags, needsBody(provider, settings))
  const nowMs = flags.now === undefined ? Date.now() : readTime(flags.now)
  const inquiry = { provider, settings, request, nowMs }
  const diagnosis = await diagnose(inquiry)
  console.log(escapeControls(await report(inquiry, diagnosis, concealer(settings))))
  process.exitCode = diagnosis.explanation.verdict instanceof Verified ? 0 : 1
}

/** Prints what `provider` may be, with what has to be configured for it. */
function listProviders(): void {
  const rows = PROVIDER_NAMES.map((name) => {
    const family = findFamily(name)!
    const docs = PRESETS[name]?.docs ?? "generic: docs/providers.md"
    return [name, family.family, describeRequired(family), docs]
  })
  const table = [["NAME", "SCHEME", "NEEDS", "DOCUMENTATION"], ...rows]
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)))
  for (const row of table) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
  }
}

function needsBody(provider: string, settings: VerifierSettings): boolean {
  try {
    return makeVerifier(provider, settings).needs === "body"
  } catch (error) {
    throw toUsage(withSpace(error, provider, settings) ?? error)
  }
}

/** Says that it is only white space around a secret that is wrong, where it is. */
function withSpace(error: unknown, provider: string, settings: VerifierSettings): WrongSetting | undefined {
  if (!(error instanceof WrongSetting) || settings.secret === undefined) return undefined
  try {
    makeVerifier(provider, { ...settings, secret: settings.secret.map((it) => it.trim()) })
  } catch (stillWrong) {
    if (stillWrong instanceof WrongSetting) return undefined
    throw stillWrong
  }
  return new WrongSetting("secret", "has white space around it; without, it is of the right form")
}

function readRequest(flags: VerifyFlags, needsBody: boolean): SignedRequest {
  const headers = readHeaders(flags.header ?? [])
  if (flags.body === undefined && needsBody)
    throw usage("--body is missing: the file that holds the request's raw body, or -")
  const body = flags.body === undefined ? new Uint8Array() : readInput(flags.body)
  const url = flags.url ?? `http://${headers.get("Host") ?? "localhost"}/`
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw usage("--url is no http or https URL")
  const [, path = "", query = ""] = /^[^/]*\/\/[^/?#]*([^?#]*)(?:\?([^#]*))?/.exec(url) ?? []
  return { method: flags.method.toUpperCase(), url, path: path || "/", query, headers, body }
}

function readTime(text: string): number {
  const ms = parseTime(text, "any")
  if (ms === undefined) throw usage("--now is neither RFC 3339 nor seconds or milliseconds since 1970")
  return ms
}
