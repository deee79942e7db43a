import type { Verification } from "../verify/presets/providers.ts"
import { loadForCommand } from "../config/file/load.ts"
import { addressTest, senderBehind } from "../senders/addresses.ts"
import { parsePublicUrl, publicUrl } from "../http/public-url.ts"
import { verificationsOf } from "../runtime/explain-request.ts"
import { planPipeline } from "../runtime/plan/plan-part.ts"
import type { PlannedPipeline } from "../runtime/plan/plan.ts"
import { providerOf, readSettings, usage, type VerifierFlags } from "./verifier-flags.ts"

/** @throws HooklineError `usage` for an unknown id, `config`, `no_input` */
export function readPipeline(file: string | undefined, id: string): PlannedPipeline {
  return planPipeline(loadForCommand(file), id)
}

/**
 * How a pipeline verifies, with the flags that are given next to it in place of its options. The variable HOOKLINE_SECRET
 * is none of them.
 *
 * @throws HooklineError `usage` where it verifies nobody
 */
export function verificationsWith(pipeline: PlannedPipeline, flags: VerifierFlags): readonly Verification[] {
  const provider = flags.provider === undefined ? undefined : providerOf(flags)
  const settings = readSettings(flags, {})
  const own = verificationsOf(pipeline)
  if (own.length === 0 && provider === undefined)
    throw usage(
      `pipeline ${pipeline.id} has no Verifier: it does not check who sends; name the sender with --provider`,
    )
  if (own.length === 0) return [{ provider: provider!, settings }]
  return own.map((it) => ({ provider: provider ?? it.provider, settings: { ...it.settings, ...settings } }))
}

/**
 * The URL that a pipeline would take a request to have been sent to: by its `public_url`, or by what its trusted proxies
 * forward, the last of which is assumed to have passed it on.
 *
 * @param path that of the request; default: the pipeline's, of which a `*` stands for nothing
 */
export function urlAsTakenBy(
  { source: { values } }: PlannedPipeline,
  headers: Headers,
  path = String(values["path"]).replace(/\*$/, ""),
): string {
  const text = (key: string): string | undefined => values[key] as string | undefined
  const configured = text("public_url")
  const trusted = values["trusted_proxies"] as readonly string[] | undefined
  const trusts = trusted && addressTest(trusted)
  const { proxies } = senderBehind(
    PEER,
    headers.get("X-Forwarded-For"),
    (address) => trusts !== undefined && (address === PEER || trusts(address)),
  )
  const known = new Headers(headers)
  if (!known.has("Host")) known.set("Host", "localhost")
  return publicUrl(
    {
      configured: configured === undefined ? undefined : parsePublicUrl(configured),
      isTls: text("tls_certificate") !== undefined,
      proxies,
    },
    { path, query: "", headers: known },
  )
}

/** Whoever made the connection. */
const PEER = "peer"
