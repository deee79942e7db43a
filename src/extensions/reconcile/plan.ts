import { senderOf } from "../../components/processor-facts.ts"
import type { Values } from "../../config/options/option-types.ts"
import type { Resolved } from "../../config/options/resolve.ts"
import { TOPIC_NAME } from "../../pipeline/topic-name.ts"
import { LISTINGS } from "./listings.ts"
import type { ConfigurationView } from "../define-extension.ts"
import type { CheckedProcessors, PipelineView } from "../sections.ts"
import type { RECONCILE } from "./options.ts"

type Options = (typeof RECONCILE)["options"]

/** A `[reconcile:<id>]` section, and the preset of its pipeline's sender. */
export interface PlannedReconcile {
  readonly id: string
  readonly values: Values<Options>
  readonly pipeline: PipelineView
  readonly provider: string
}

export const plannedReconciles = ({
  sections,
  pipelines,
}: ConfigurationView<Options>): readonly PlannedReconcile[] =>
  sections.map(({ id, values }) => {
    const pipeline = pipelines.find((it) => it.id === values.pipeline)!
    return { id, values, pipeline, provider: senderOf(pipeline.processors)!.name }
  })

/** Checks that the sender of a section's pipeline lists what it sent. */
export function checkReconcile(
  { values, wrong, isGiven }: Resolved<Options>,
  processors: CheckedProcessors,
): void {
  const provider = senderOf(processors)?.name
  const listing = provider === undefined ? undefined : LISTINGS[provider]
  if (listing === undefined) {
    const known = Object.keys(LISTINGS).join(", ")
    const whose =
      provider === undefined
        ? "has no Verifier with a provider"
        : `is of ${provider}, whose API lists no deliveries`
    return wrong("pipeline", `${whose}; it can be reconciled with one of ${known}`)
  }
  const { title, endpoint, keptMs, redeliver } = listing
  if (endpoint !== undefined && values.endpoint === undefined && !isGiven("endpoint"))
    wrong("endpoint", `is missing; add endpoint = ${endpoint.form}`, "missing_key")
  if (values.endpoint !== undefined && endpoint?.pattern.test(values.endpoint) === false)
    wrong("endpoint", `is not ${endpoint.form}`)
  if (values.endpoint !== undefined && endpoint === undefined)
    wrong(
      "endpoint",
      `has no effect: ${title} lists the events of the whole account; remove it`,
      "conflicting_keys",
    )
  if (listing.api === "" && values.api === undefined && !isGiven("api"))
    wrong("api", `is missing; add api = <the base URL of your ${title} site>`, "missing_key")
  if (values.window !== undefined && values.window > keptMs)
    wrong("window", `is longer than ${title} keeps its list, ${keptMs / 86_400_000} days; lower it`)
  const { certificate_topic: topic } = values
  if (topic !== undefined && !TOPIC_NAME.pattern.test(topic))
    wrong("certificate_topic", `is not ${TOPIC_NAME.form}`)
  if (values.inject !== "true") return
  if (redeliver !== undefined)
    wrong(
      "inject",
      `has no effect: ${title} delivers missing events again itself, signed; remove it`,
      "conflicting_keys",
    )
  else if (!processors.some((it) => typeof it !== "function" && it.component.store !== undefined))
    wrong(
      "inject",
      "needs a Deduplicator in the pipeline: the sender may still deliver an event that was injected; add one",
    )
}
