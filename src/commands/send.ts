import { withoutHidden } from "../process/hidden-segments.ts"
import { Option, type Command } from "commander"
import { escapeControls } from "../telemetry/escape-controls.ts"
import {
  findFamily,
  makeSigner,
  nameOf,
  type ProviderRef,
  type Sendable,
  type VerifierSettings,
} from "../verify/verification.ts"
import { sampleRequest } from "../verify/senders.ts"
import { type Conceal, concealer } from "../verify/masking.ts"
import { addDetails } from "./details.ts"
import { Interruption } from "./interruption.ts"
import { parseCount, parseRate, parseSeconds } from "./flag-values.ts"
import { startProgressBar } from "./progress-bar.ts"
import { allAccepted, sendEvents, type SendPace, type SendResults } from "./send-events.ts"
import type { SentEvent, StoredEvent } from "./send-pipeline.ts"
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
  readonly concurrency?: number
  readonly timeout: number
  readonly json?: true
}

export function declareSend(program: Command): void {
  const command = addVerifierFlags(
    addDetails(program.command("send"), {
      notes: `${SECRETS_HELP}

With a pipeline's name, address, sender and secrets are those of the configuration file; options given next to it override
them, and HOOKLINE_SECRET is not read. With a URL and without --provider events are not signed. For providers that sign with
a private key, pass your own as the secret.

-c is --config, as for every command; with a whole number it is --concurrency.

Exit status: 0 if all responses were 2xx, else 1; 64 for a usage error, 66 for an unreadable file.`,
      example: "hookline send payments",
    }),
    "-c, --config",
  )
  command
    .description("post sample events, signed as the provider would, to try out a pipeline")
    .argument("<pipeline|url>", "where to post: a pipeline of the configuration file, or a URL")
    .option("-b, --body <file>", "the body instead of the provider's sample; - for standard input")
    .option("-H, --header <header>", "a header to send, 'Name: value'; repeatable", repeatable)
    .option("-n, --count <number>", "how many events, each with its own id", parseCount, 1)
    .option("-r, --rate <number>", "events per second; default: as fast as responses arrive", parseRate)
    .addOption(
      new Option("-j, --concurrency <number>", "concurrent requests (default: 10)").argParser(parseCount),
    )
    .option("--public-url <url>", "the URL to sign, if a proxy rewrites it")
    .addOption(
      new Option("--timeout <seconds>", "time limit of a response")
        .argParser(parseSeconds)
        .default(30_000, "30"),
    )
    .option("--json", "print JSON")
    .action((target: string, flags: SendFlags) => send(target, { ...concurrency, ...flags }))
  const concurrency: { concurrency?: number } = {}
  command.options
    .find(({ long }) => long === "--config")!
    .argParser((text, before) => {
      if (!/^[1-9]\d{0,8}$/.test(text)) return text
      concurrency.concurrency = Number(text)
      return before
    })
}

/** Posts sample events, signed as a provider would; the exit status is 0 if all responses were 2xx, else 1. */
export async function send(target: string, flags: SendFlags): Promise<void> {
  const pace: SendPace = {
    count: flags.count,
    ratePerS: flags.rate,
    concurrency: flags.concurrency ?? 10,
    timeoutMs: flags.timeout,
  }
  const isUrl = /[:/]/.test(target)
  // pipelines take long to load
  const pipeline = isUrl ? undefined : (await import("./send-pipeline.ts")).pipelineTarget(target, flags)
  const settings = pipeline?.settings ?? readSettings(flags, process.env)
  const sent: SentEvent[] = []
  const url = pipeline?.url ?? parseTarget(target, "URL")
  const next = eventMaker(url, settings, { ...flags, ...pipeline?.flags }, (event) => {
    if (sent.length <= MOST_STORED) sent.push(event)
  })
  // some schemes detect wrong settings only when signing
  await next(1).catch((error: unknown) => {
    throw toUsage(error)
  })
  sent.length = 0

  using interruption = new Interruption()
  const { signal } = interruption
  using bar = pace.count > 1 ? startProgressBar(pace.count) : undefined
  const onAnswer = (): void => bar?.increment()
  const beganMs = Date.now()
  const results = await sendEvents(next, pace, { signal, onAnswer, tls: pipeline?.tls })
  bar?.stop()
  const isKnown = pipeline !== undefined && sent.length <= MOST_STORED && allAccepted(results)
  const stored = isKnown ? await pipeline.stored(sent, beganMs - CLOCK_MS) : []
  const all = { ...results, stored, pipeline: pipeline?.id }
  const shown = flags.json === true ? toJson(all, concealer(settings)) : summarize(all, concealer(settings))
  console.log(escapeControls(withoutHidden(shown)))
  process.exitCode = allAccepted(results) && !signal.aborted ? 0 : 1
}

/** Of so many events it is said where they are. */
const MOST_STORED = 10
/** A broker's clock may differ. */
const CLOCK_MS = 60_000

/**
 * Makes signed events, each with its own id and number.
 *
 * @throws HooklineError `usage`, `no_input`
 */
export function eventMaker(
  target: URL,
  settings: VerifierSettings,
  flags: Pick<SendFlags, "provider" | "config" | "body" | "header" | "publicUrl">,
  made: (event: SentEvent) => void = () => {},
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
    made({
      id: event.id,
      text: `${[...request.headers.values()].join(" ")} ${Buffer.from(request.body).toString()}`,
    })
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

function adviceOn(
  { status, detail }: NonNullable<SendResults["problem"]>,
  pipeline: string | undefined,
): string {
  const command = `hookline verify --last${pipeline === undefined ? "" : ` --pipeline ${pipeline}`}`
  return status === 401 ? `401: run ${command}` : `${status}: ${detail} Why: ${command}`
}

const percentile = ({ latenciesMs }: SendResults, p: number): number =>
  latenciesMs[Math.max(0, Math.ceil(latenciesMs.length * p) - 1)] ?? 0

interface Shown extends SendResults {
  readonly stored: readonly StoredEvent[]
  readonly pipeline: string | undefined
}

function toJson(results: Shown, conceal: Conceal): string {
  const { outcomes, latenciesMs, elapsedMs, firstError, stored } = results
  return JSON.stringify({
    sent: latenciesMs.length,
    answers: Object.fromEntries(outcomes),
    elapsed_ms: elapsedMs,
    latency_ms: { p50: percentile(results, 0.5), p99: percentile(results, 0.99) },
    first_error: firstError === undefined ? undefined : conceal(firstError),
    ...(stored.length > 0 && { stored }),
  })
}

function summarize(results: Shown, conceal: Conceal): string {
  const { outcomes, latenciesMs, elapsedMs, firstError, problem, stored, pipeline } = results
  const sent = latenciesMs.length
  const statuses = [...outcomes]
    .toSorted(([, a], [, b]) => b - a)
    .map(([outcome, times]) => `${times} x ${outcome}`)
  const [p50, p99] = [percentile(results, 0.5), percentile(results, 0.99)].map((ms) => ms.toFixed(1))
  return [
    `${sent} sent in ${(elapsedMs / 1000).toFixed(2)} s, ${(sent / (elapsedMs / 1000)).toFixed(1)} a second`,
    `answers: ${statuses.join(", ") || "none"}`,
    `latency: p50 ${p50} ms, p99 ${p99} ms`,
    ...stored.map(
      (it) =>
        `stored: ${it.connection}/${it.topic}, partition ${it.partition}, offset ${it.offset}, id ${it.id}`,
    ),
    ...(firstError === undefined
      ? []
      : [`first error: ${conceal(problem === undefined ? firstError : adviceOn(problem, pipeline))}`]),
  ].join("\n")
}
