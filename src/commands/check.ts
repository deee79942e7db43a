import { withoutHidden } from "../process/hidden-segments.ts"
import { Application } from "../runtime/application.ts"
import { verifier } from "../components/verifier.ts"
import { counted } from "../words.ts"
import { formatEndpoint } from "../addresses/endpoint.ts"
import { HooklineError } from "../errors.ts"
import { extensions } from "../extensions/registry.ts"
import { describeUnusable, noProxy, proxySetting, showProxy } from "../outgoing/proxied-fetch.ts"
import type { Plan, PlannedPipeline } from "../runtime/plan/plan.ts"
import { toShownUrl } from "../outgoing/shown-url.ts"
import { routeOfSample, type SampleRoute } from "../runtime/sample-route.ts"
import { senderOf } from "../components/processor-facts.ts"
import { reach } from "../runtime/reach.ts"
import { findFamily, nameOf, type ProviderRef } from "../verify/verification.ts"
import { loadComponents, type ComponentFlags } from "./own-components.ts"

export interface CheckFlags extends ComponentFlags {
  readonly config?: string
  /** Whether ports and logs must be free, too. */
  readonly listen?: true
  /** Whether brokers and stores are connected to. */
  readonly connect?: true
  readonly json?: true
}

/**
 * Finds what a start would, and prints what it would run. Nothing is changed.
 *
 * @throws HooklineError with every problem, as a start would; `unavailable` for what can't be reached
 */
export async function check({ config, listen, connect, json, ...flags }: CheckFlags): Promise<void> {
  const app = await Application.load(config, await loadComponents(flags))
  const diagnosis = await app.diagnose({ alone: listen === true, createsAll: true })
  const { plan, problems, error } = diagnosis
  const reached = connect === true && plan !== undefined ? await reach(plan, diagnosis) : []
  const proxies = describeProxies()
  const unreachable = reached.some(({ isUsable }) => !isUsable)
  if (json) {
    const found = {
      file: problems.file,
      ok: plan !== undefined && !unreachable,
      problems: problems.all,
      warnings: problems.allWarnings,
      ...(plan && describe(plan)),
      ...(proxies.length > 0 && { proxies }),
      ...(connect && { reached }),
    }
    console.log(JSON.stringify(found, undefined, 2))
    process.exitCode = error?.exitCode ?? (unreachable ? UNAVAILABLE.exitCode : 0)
    return
  }
  if (plan === undefined) throw error!
  for (const warning of problems.warnings) console.error(`warning: ${warning}`)
  for (const { problem } of proxies) if (problem !== undefined) console.error(`warning: ${problem}`)
  printPlan(plan)
  const excepted = noProxy().length === 0 ? "" : `, except to ${noProxy().join(", ")} (NO_PROXY)`
  for (const { scheme, proxy } of proxies)
    if (proxy !== undefined)
      console.log(`proxy for ${scheme} requests to other machines: ${proxy}${excepted}`)
  for (const { name, answers } of reached) for (const answer of answers) console.log(`${name}: ${answer}`)
  if (unreachable) throw UNAVAILABLE
  console.log("Configuration OK")
}

/** What the environment says of proxies, which each request over HTTP obeys. */
const describeProxies = () =>
  (["http", "https"] as const).flatMap((scheme) => {
    const setting = proxySetting(scheme)
    if (setting === undefined) return []
    return [
      setting.url === undefined
        ? { scheme, problem: describeUnusable(setting) }
        : { scheme, proxy: showProxy(setting) },
    ]
  })

const UNAVAILABLE = new HooklineError(
  "unavailable",
  "The configuration is valid, but not all of it can be reached.",
)

function printPlan(plan: Plan): void {
  const { pipelines, forwards, admin } = describe(plan)
  for (const [id, { kind, values }] of plan.connections) {
    const { place, security } = kind.describe(values)
    const spool = kind.spool?.(values)
    const secured = security === undefined ? "" : ` (${security})`
    console.log(`connection ${id}: ${place}${secured}${spool === undefined ? "" : `, spool ${spool.file}`}`)
  }
  const shown = pipelines.map(({ id, listen, path, topic, sink, routed, verification, headers, sample }) => {
    const others = routed === undefined ? "" : `, routed to ${routed.join(", ")}`
    const kept = headers === undefined ? "" : `; record headers: ${headers.join(", ")}`
    const to = topic === undefined ? sink : `topic ${topic}`
    return `${id}: ${listen}${path} -> ${to}${others}; verification: ${verification}${kept}${showSample(sample)}`
  })
  if (shown.length > 0) console.log(shown.join("\n"))
  for (const { name, shown } of sectionsOf(plan))
    for (const { json, line } of shown) console.log(`${name} ${json.id}: ${line}`)
  for (const { id, from, url, sign } of forwards)
    console.log(`forward ${id}: ${from} -> ${url}; signature: ${sign}`)
  console.log(`admin: ${admin}`)
}

/** The sections of extensions. */
const sectionsOf = ({ extensions: planned }: Plan) =>
  extensions.flatMap(({ name, sections: declared }) => {
    if (declared === undefined) return []
    return [{ name, plural: declared.plural, shown: planned.get(name)!.planned.map(declared.show) }]
  })

/** A plan as `check` shows it, without secrets. */
function describe(plan: Plan) {
  const { connections, pipelines, forwards, admin } = plan
  const [first = ""] = connections.keys()
  return {
    connections: [...connections].map(([id, { kind, values }]) => {
      const { address, security } = kind.describe(values)
      const at = security === undefined ? address : `${address} (${security})`
      const spool = kind.spool?.(values)
      return { id, kind: kind.name, at, ...(spool && { spool: spool.file }) }
    }),
    pipelines: pipelines.map((pipeline) => {
      const { host, port, path } = pipeline.source.values as { host: string; port: number; path: string }
      const { connection = first, topic } = pipeline.sink.values as { connection?: string; topic?: string }
      const verification = describeVerification(pipeline)
      const sample = routeOfSample(pipeline)
      // names or patterns
      const routed = pipeline.processors.flatMap((it) =>
        typeof it === "function" ? [] : (it.component.routing?.(it.values).topics ?? []),
      )
      const sender = senderOf(pipeline.processors)
      const headers = [...pipeline.processors, pipeline.sink].flatMap((it) =>
        typeof it === "function" ? [] : (it.component.recordHeaders?.(it.values, sender) ?? []),
      )
      return {
        id: pipeline.id,
        listen: formatEndpoint({ host, port }),
        path: withoutHidden(path),
        connection,
        topic,
        ...(topic === undefined && { sink: pipeline.sink.component.title }),
        ...(routed.length > 0 && { routed }),
        verification,
        ...(headers.length > 0 && { headers: [...new Set(headers)] }),
        ...(sample && { sample }),
      }
    }),
    ...(Object.fromEntries(
      sectionsOf(plan).map(({ plural, shown }) => [plural, shown.map(({ json }) => json)]),
    ) as object),
    forwards: forwards.map(({ id, values: { from, url, sign } }) => {
      return { id, from, url: toShownUrl(url), sign }
    }),
    admin: admin.listen === "off" ? "off" : formatEndpoint(admin.listen),
  }
}

/** Where a sample of the sender's events goes. */
function showSample(sample: SampleRoute | undefined): string {
  if (sample === undefined) return ""
  const { sender, type, topics, reason } = sample
  const what = type ? `${sender} (${type})` : sender
  return `; a sample of ${what} ${topics.length === 0 ? `is not published (${reason})` : `goes to ${topics.join(", ")}`}`
}

/** How senders are verified: `stripe (hmac), mode enforce`. */
function describeVerification({ source, processors }: PlannedPipeline): string {
  const checks: string[] = []
  if (source.values.tls_client_ca !== undefined) checks.push("client certificates")
  for (const processor of processors) {
    if (typeof processor === "function" || processor.component.title !== verifier.title) continue
    const { provider, mode, secret } = processor.values as {
      provider: ProviderRef
      mode: string
      secret?: readonly string[]
    }
    const { family } = findFamily(provider)!
    const name = nameOf(provider)
    // a comma may have split one
    const several = (secret?.length ?? 0) > 1 ? [counted(secret!.length, "secret")] : []
    const details = [...(family === name ? [] : [family]), ...several].join(", ")
    checks.push(`${name}${details === "" ? "" : ` (${details})`}, mode ${mode}`)
  }
  return checks.length === 0 ? "none" : checks.join("; ")
}
