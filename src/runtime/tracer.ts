import manifest from "../../package.json" with { type: "json" }
import { reopenConfig } from "../config/options/reloading.ts"
import { splitPair, TRACES } from "../config/sections.ts"
import { tokenBucket } from "../http/admission/rate-limit.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Metrics } from "../telemetry/metrics.ts"
import type { Tracer } from "../telemetry/traces/trace.ts"
import type { Plan } from "./plan/plan.ts"
import type { Transaction } from "./resources.ts"

interface TracerDependencies {
  readonly log: Logger
  readonly metrics: Metrics
}

/** Opens the plan's tracer, or keeps the open one; undefined: off. What records spans is loaded only where it is on. */
export async function acquireTracer(
  { traces }: Plan,
  transaction: Transaction,
  { log, metrics }: TracerDependencies,
): Promise<Tracer | undefined> {
  const { endpoint, headers = [], parent, sample, service_name, resource = [] } = traces
  if (endpoint === "off") return undefined
  const { OtlpTracer } = await import("../telemetry/traces/otlp-tracer.ts")
  const perSecond = traces.max_traces_per_second
  const resourceAttributes = {
    // https://opentelemetry.io/docs/specs/semconv/resource/#telemetry-sdk
    "telemetry.sdk.name": "hookline",
    "telemetry.sdk.language": "nodejs",
    "telemetry.sdk.version": manifest.version,
    "service.version": manifest.version,
    "service.instance.id": crypto.randomUUID(),
    ...Object.fromEntries(pairs(resource)),
    "service.name": service_name,
  }
  return transaction.acquire({
    name: "tracer",
    config: reopenConfig(TRACES, traces),
    open: () =>
      new OtlpTracer({
        endpoint,
        headers: Object.fromEntries(pairs(headers)),
        parent,
        sample,
        limit: tokenBucket({ perSecond, burst: Math.max(1, perSecond) }),
        resource: resourceAttributes,
        log,
        metrics: metrics.traces,
      }),
    close: (it, untilMs) => it.close(untilMs),
  })
}

const pairs = (given: readonly string[]) => given.map((it) => splitPair(it)!)
