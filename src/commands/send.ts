import { Option, type Command } from "commander"
import { escapeControls } from "../telemetry/escape-controls.ts"
import type { VerifierSettings } from "../verify/schemes/family.ts"
import { findFamily, makeSigner, nameOf, type ProviderRef } from "../verify/presets/providers.ts"
import { sampleRequest } from "../verify/samples/samples.ts"
import type { Sendable } from "../verify/verifier.ts"
import { concealer, type Conceal } from "../verify/explain/conceal.ts"
import { addDetails } from "./details.ts"
import { Interruption } from "./interruption.ts"
import { parseCount, parseRate, parseSeconds } from "./flag-values.ts"
import { startProgressBar } from "./progress-bar.ts"
import { allAccepted, sendEvents, type SendPace, type SendResults } from "./send-events.ts"
import { repeatable } from "./common-flags.ts"
import {
  addVerifierFlags,
  providerOf,
  readHeaders,
  readInput,
  readSettings,
  SECRETS_HELP,
  toUsage,
  usage,
  type VerifierFlags,
} from "./verifier-flags.ts"

export interface SendFlags extends VerifierFlags {
  readonly body?: string
  readonly header?: readonly string[]
  readonly publicUrl?: string
  readonly count: number
  readonly rate?: number
  readonly concurrency: number
  readonly timeout: number
  readonly json?: true
}

export function declareSend(program: Command): void {
  addVerifierFlags(
    addDetails(program.command("send"), {
      notes: `${SECRETS_HELP}

Without --provider events are not signed. For providers that sign with a private key, pass your own as the secret.

Exit status: 0 if all responses were 2xx, else 1; 64 for a usage error, 66 for an unreadable file.`,
      example: "hookline send -p stripe --secret-file secret http://localhost:8080/webhook",
    }),
  )
    .description("post sample events, signed as the provider would, to try out a pipeline")
    .argument("<url>", "where to post")
    .option("-b, --body <file>", "the body instead of the provider's sample; - for standard input")
    .option("-H, --header <header>", "a header to send, 'Name: value'; repeatable", repeatable)
    .option("-n, --count <number>", "how many events, each with its own id", parseCount, 1)
    .option("-r, --rate <number>", "events per second; default: as fast as responses arrive", parseRate)
    .option("-c, --concurrency <number>", "concurrent requests", parseCount, 10)
    .option("--public-url <url>", "the URL to sign, if a proxy rewrites it")
    .addOption(
      new Option("--timeout <seconds>", "time limit of a response")
        .argParser(parseSeconds)
        .default(30_000, "30"),
    )
    .option("--json", "print JSON")
    .action((url: string, flags: SendFlags) => send(url, flags))
}

/** Posts sample events, signed as a provider would; the exit status is 0 if all responses were 2xx, else 1. */
export async function send(target: string, flags: SendFlags): Promise<void> {
  const settings = readSettings(flags, process.env)
  const pace: SendPace = {
    count: flags.count,
    ratePerS: flags.rate,
    concurrency: flags.concurrency,
    timeoutMs: flags.timeout,
  }
  const next = eventMaker(parseTarget(target, "URL"), settings, flags)
  // some schemes detect wrong settings only when signing
  await next(1).catch((error: unknown) => {
    throw toUsage(error)
  })

  using interruption = new Interruption()
  const { signal } = interruption
  const bar = pace.count > 1 ? startProgressBar(pace.count) : undefined
  try {
    const onAnswer = (): void => bar?.increment()
    const results = await sendEvents(next, pace, { signal, onAnswer })
    bar?.stop()
    const shown =
      flags.json === true ? toJson(results, concealer(settings)) : summarize(results, concealer(settings))
    console.log(escapeControls(shown))
    process.exitCode = allAccepted(results) && !signal.aborted ? 0 : 1
  } finally {
    bar?.stop()
  }
}

/**
 * Makes signed events, each with its own id and number.
 *
 * @throws HooklineError `usage`, `no_input`
 */
export function eventMaker(
  target: URL,
  settings: VerifierSettings,
  flags: Pick<SendFlags, "provider" | "config" | "body" | "header" | "publicUrl">,
): (number: number) => Promise<Sendable> {
  const provider = flags.provider === undefined ? undefined : providerOf(flags)
  const signer = provider === undefined ? undefined : signerOf(provider, settings)
  const given = flags.body === undefined ? undefined : readInput(flags.body)
  const own = readHeaders(flags.header ?? [])
  const signedUrl =
    flags.publicUrl === undefined ? target.href : parseTarget(flags.publicUrl, "--public-url").href
  return async (number) => {
    const event = { id: crypto.randomUUID(), number, atMs: Date.now() }
    const sample = sampleRequest(provider, event)
    for (const [name, value] of own) sample.headers.set(name, value)
    const request = {
      method: "POST",
      url: signedUrl,
      headers: sample.headers,
      body: given ?? sample.body,
      id: event.id,
    }
    if (signer === undefined) return { ...request, url: target.href }
    const signed = await signer.sign(request, event.atMs)
    return { ...signed, url: withAdded(target.href, signed.url.slice(signedUrl.length + 1)) }
  }
}

/** A URL with parameters that a signer added to the one that it signed. */
const withAdded = (url: string, parameters: string): string =>
  parameters === "" ? url : `${url}${url.includes("?") ? "&" : "?"}${parameters}`

function signerOf(provider: ProviderRef, settings: VerifierSettings): ReturnType<typeof makeSigner> {
  const family = findFamily(provider)!
  if (family.signer === undefined)
    throw usage(`${nameOf(provider)} can't be signed for: only the provider has the private key`)
  const takesPrivateKey =
    !family.requires.flat().includes("secret") && family.requires.flat().includes("public_key")
  if (takesPrivateKey && settings.secret === undefined)
    throw usage(
      `${nameOf(provider)} signs with its private key: make a key pair, pass the private key with --secret-file (PEM, PKCS #8) ` +
        `and set the public key as public_key in the pipeline`,
    )
  try {
    return makeSigner(provider, settings)
  } catch (error) {
    throw toUsage(error)
  }
}

function parseTarget(text: string, what: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw usage(`${what} is not an http or https URL`)
  url.hash = ""
  return url
}

const percentile = ({ latenciesMs }: SendResults, p: number): number =>
  latenciesMs[Math.max(0, Math.ceil(latenciesMs.length * p) - 1)] ?? 0

function toJson(results: SendResults, conceal: Conceal): string {
  const { outcomes, latenciesMs, elapsedMs, firstError } = results
  return JSON.stringify({
    sent: latenciesMs.length,
    answers: Object.fromEntries(outcomes),
    elapsed_ms: elapsedMs,
    latency_ms: { p50: percentile(results, 0.5), p99: percentile(results, 0.99) },
    first_error: firstError === undefined ? undefined : conceal(firstError),
  })
}

function summarize(results: SendResults, conceal: Conceal): string {
  const { outcomes, latenciesMs, elapsedMs, firstError } = results
  const sent = latenciesMs.length
  const statuses = [...outcomes]
    .toSorted(([, a], [, b]) => b - a)
    .map(([outcome, times]) => `${times} x ${outcome}`)
  const [p50, p99] = [percentile(results, 0.5), percentile(results, 0.99)].map((ms) => ms.toFixed(1))
  return [
    `${sent} sent in ${(elapsedMs / 1000).toFixed(2)} s, ${(sent / (elapsedMs / 1000)).toFixed(1)} a second`,
    `answers: ${statuses.join(", ") || "none"}`,
    `latency: p50 ${p50} ms, p99 ${p99} ms`,
    ...(firstError === undefined ? [] : [`first error: ${conceal(firstError)}`]),
  ].join("\n")
}
