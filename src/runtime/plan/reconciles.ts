import type { Component } from "../../components/define-component.ts"
import { suggest } from "../../words.ts"
import type { OptionSet, Values } from "../../config/options/option.ts"
import type { Steps } from "../../clock/slices.ts"
import type { Processor } from "../../pipeline/event.ts"
import { TOPIC_NAME } from "../../pipeline/topic-name.ts"
import { LISTINGS } from "../../reconcile/listings.ts"
import type { ResolvedDraft, ResolvedReconcile } from "./resolved-draft.ts"
import { isUnread, senderOf } from "../../components/processor-facts.ts"

/** Checks that each has a pipeline whose sender lists what it sent. */
export function* checkReconciles({ reconciles, pipelines }: ResolvedDraft): Steps<void> {
  for (const reconcile of reconciles.values()) {
    yield
    const { pipeline: id } = reconcile.values
    if (id === undefined) continue
    const pipeline = pipelines.find((it) => it.id === id)
    if (pipeline === undefined) {
      const names = suggest(
        id,
        pipelines.map((it) => it.id),
        (name) => JSON.stringify(name),
      )
      reconcile.wrong("pipeline", `unknown pipeline ${JSON.stringify(id)}${names}`)
    } else if (!pipeline.processors.some(isUnread)) checkReconcile(reconcile, pipeline.processors)
  }
}

type Part = {
  readonly component: Pick<Component, "sender" | "store">
  readonly values: Partial<Values<OptionSet>>
}

/** Checks a section with the processors of its pipeline. */
export function checkReconcile(
  { values, wrong, isGiven }: ResolvedReconcile,
  processors: readonly (Part | Processor)[],
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
