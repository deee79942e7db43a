import { Argument, Option, type Command } from "commander"
import { escapeControls } from "../telemetry/escape-controls.ts"
import {
  makeVerifier,
  parseTime,
  type SignedRequest,
  type Verification,
  WrongSetting,
} from "../verify/verification.ts"
import { diagnose, reportOf, requestTo, withHost } from "../verify/explanation.ts"
import { addDetails } from "./details.ts"
import type { PastedRequest } from "../admin/api/pasted-request.ts"
import { listProviders } from "./list-providers.ts"
import { evidenceOf, headingOf, timeHints, toText, verdictOf } from "./verify-report.ts"
import { repeatable } from "./common-flags.ts"
import { say } from "./say.ts"
import {
  addVerifierFlags,
  ownProviders,
  providerOf,
  readHeaders,
  readInput,
  readSettings,
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
  readonly method?: string
  readonly now?: string
  readonly pipeline?: string
  readonly last?: true
}

export function declareVerify(program: Command): void {
  addVerifierFlags(
    addDetails(program.command("verify"), {
      notes: `${SECRETS_HELP}

With --pipeline, provider, secrets, tolerance and public URL are that pipeline's own; options given next to it override
them, and HOOKLINE_SECRET is not read. With --last, the service that runs with the file is asked for its last refused request; without a file, the one at 127.0.0.1:9464.

With -, the request is pasted to standard input: a curl command, a raw HTTP request, its headers and after an empty line
the body, or JSON with headers and body from a log. --provider can be left out where the headers are those of one sender.

Exit status: 0 if the request is verified, 1 if it is refused, 64 for a usage error, 66 for an unreadable file.`,
      example: 'hookline verify -p github --secret-file secret -b body -H "X-Hub-Signature-256: sha256=…"',
    }),
    "-c, --config",
  )
    .description(
      "explain step by step why a captured request is verified or refused, and find the likely mistake",
    )
    .addArgument(new Argument("[request]", "-: the request, pasted to standard input").choices(["-"]))
    .option("--list", "list the providers and generic kinds with their required keys, and exit")
    .option("--public-key <file>", "a file with a public key; repeatable", repeatable)
    .option("-H, --header <header>", "a header of the request, 'Name: value'; repeatable", repeatable)
    .option("-b, --body <file>", "the request's raw body; - for standard input")
    .option("-u, --url <url>", "the URL registered with the provider, for providers that sign it")
    .option("-X, --method <method>", "the request's method (default: POST)")
    .option("--now <time>", "check the signed time as of then: RFC 3339, or seconds since 1970")
    .addOption(
      new Option(
        "--pipeline <pipeline>",
        "a pipeline of the configuration file: verify as it does",
      ).conflicts("list"),
    )
    .addOption(
      new Option(
        "--last",
        "explain the request that the running service refused last, of all pipelines or that of --pipeline",
      ).conflicts([
        "list",
        "provider",
        "secret",
        "secretFile",
        "publicKey",
        "set",
        "header",
        "body",
        "url",
        "method",
        "now",
      ]),
    )
    .option("--json", "print JSON")
    .action((request: "-" | undefined, flags: VerifyFlags) => verify(flags, request !== undefined))
}

/** Verifies a captured request and explains the result; exit status 0 if verified, else 1. */
export async function verify(given: VerifyFlags, isPasted: boolean): Promise<void> {
  if (given.list === true)
    return listProviders(given.config === undefined ? [] : ownProviders(given.config), given.json === true)
  // pipelines and the admin API's shapes take long to load
  if (given.last === true) return (await import("./explain-last.ts")).explainLast(given)
  const headers = readHeaders(given.header ?? [])
  const { pasted, ...flags } = isPasted ? await readPasted(given, headers) : { ...given, pasted: undefined }
  const { verifications, url } = await readSender(flags, headers)
  const request = readRequest(flags, url, headers, verifications.some(requiresBody), pasted?.body)
  const nowMs = flags.now === undefined ? Date.now() : readTime(flags.now)
  for (const [index, { provider, settings }] of verifications.entries()) {
    const inquiry = { provider, settings, request, nowMs, pipeline: flags.pipeline }
    const diagnosis = await diagnose(inquiry)
    const report = await reportOf(inquiry, diagnosis)
    // the first that refuses a request ends it
    if (report.is_verified && index < verifications.length - 1) continue
    const shown =
      flags.json === true
        ? JSON.stringify({ ...verdictOf(report), ...evidenceOf(inquiry, diagnosis) })
        : toText(report, headingOf(provider), timeHints(report))
    console.log(escapeControls(shown))
    process.exitCode = report.is_verified ? 0 : 1
    return
  }
}

/**
 * Reads a pasted request, and adds its headers to those of flags.
 *
 * @returns the flags, with what they leave to the request
 */
async function readPasted(
  flags: VerifyFlags,
  headers: Headers,
): Promise<VerifyFlags & { readonly pasted: PastedRequest }> {
  if (process.stdin.isTTY) say("Paste the request, then press Enter and Ctrl-D.")
  const { parsePasted, senderOfHeaders } = await import("../admin/api/pasted-request.ts")
  const pasted = parsePasted(readInput("-"), readInput)
  for (const [name, value] of pasted.headers) if (!headers.has(name)) headers.set(name, value)
  const isNamed = flags.provider !== undefined || flags.pipeline !== undefined
  const { url = pasted.url, method = pasted.method } = flags
  return {
    ...flags,
    pasted,
    ...(url === undefined ? {} : { url: withHost(url, headers) }),
    ...(method === undefined ? {} : { method }),
    ...(isNamed ? {} : { provider: senderOfHeaders(headers) }),
  }
}

/** How the request is verified, and the URL that it was sent to. */
async function readSender(
  flags: VerifyFlags,
  headers: Headers,
): Promise<{ verifications: readonly Verification[]; url: string }> {
  if (flags.pipeline === undefined)
    return {
      verifications: [{ provider: providerOf(flags), settings: readSettings(flags, process.env) }],
      url: flags.url ?? `http://${headers.get("Host") ?? "localhost"}/`,
    }
  const [{ urlAsTakenBy }, { readPipeline, verificationsWith }] = await Promise.all([
    import("../runtime/explain-request.ts"),
    import("./verify-pipeline.ts"),
  ])
  const pipeline = readPipeline(flags.config, flags.pipeline)
  return {
    verifications: verificationsWith(pipeline, flags),
    url: flags.url ?? urlAsTakenBy(pipeline, headers),
  }
}

function requiresBody(verification: Verification): boolean {
  const { provider, settings } = verification
  try {
    return makeVerifier(provider, settings).needs === "body"
  } catch (error) {
    throw toUsage(whiteSpaceError(error, verification) ?? error)
  }
}

/** The error, if white space around a secret is its only cause. */
function whiteSpaceError(error: unknown, { provider, settings }: Verification): WrongSetting | undefined {
  if (!(error instanceof WrongSetting) || settings.secret === undefined) return undefined
  try {
    makeVerifier(provider, { ...settings, secret: settings.secret.map((it) => it.trim()) })
  } catch (stillWrong) {
    if (stillWrong instanceof WrongSetting) return undefined
    throw stillWrong
  }
  return new WrongSetting("secret", "has white space around it; remove it")
}

function readRequest(
  flags: VerifyFlags,
  url: string,
  headers: Headers,
  bodyRequired: boolean,
  pasted: Uint8Array | undefined,
): SignedRequest {
  if (flags.body === undefined && pasted === undefined && bodyRequired)
    throw usage("--body is missing; give the file with the raw body, or -")
  const body = flags.body === undefined ? (pasted ?? new Uint8Array()) : readInput(flags.body)
  const request = requestTo(url, { method: flags.method, headers, body })
  if (request === undefined) throw usage("--url is not an http or https URL")
  return request
}

function readTime(text: string): number {
  const ms = parseTime(text, "any")
  if (ms === undefined) throw usage("--now is neither RFC 3339 nor seconds or milliseconds since 1970")
  return ms
}
