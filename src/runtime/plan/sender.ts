import type { Component } from "../../components/define-component.ts"
import type { OptionSet, Values } from "../../config/options/option.ts"
import type { Steps } from "../../clock/slices.ts"
import type { Processor } from "../../pipeline/event.ts"
import type { KnownSender } from "../../verify/presets/event-locations.ts"
import type { ResolvedDraft } from "./resolved-draft.ts"

type Part = { readonly component: Pick<Component, "sender">; readonly values: Partial<Values<OptionSet>> }

/** The sender that the pipeline's last Verifier lets pass; undefined: it has none, or an unknown one. */
export function senderOf(processors: readonly (Part | Processor)[]): KnownSender | undefined {
  const last = processors.findLast((it) => typeof it !== "function" && it.component.sender !== undefined)
  return last === undefined || typeof last === "function" ? undefined : senderIn(last)
}

/** Once for all checks of a part. */
export const senderIn = ({ component, values }: Part): KnownSender | undefined => {
  if (!SENDERS.has(values)) SENDERS.set(values, component.sender?.(values))
  return SENDERS.get(values)
}

const SENDERS = new WeakMap<Part["values"], KnownSender | undefined>()

/** Whether its provider is missing or unknown, which is reported elsewhere. */
export const isUnread = (it: Part | Processor): boolean =>
  typeof it !== "function" && it.component.sender !== undefined && senderIn(it) === undefined

/** Runs the components' rules that need the rest of their pipeline. */
export function* checkInPipelines({ pipelines, problems }: ResolvedDraft): Steps<void> {
  for (const { source, processors, sink } of pipelines) {
    yield
    if (processors.some(isUnread)) continue
    const sender = senderOf(processors)
    for (const part of [source, ...processors, sink]) {
      if (typeof part !== "object" || part.component.checkInPipeline === undefined) continue
      const warn = (key: string, text: string): void => problems.warn(part.where(key), text)
      part.component.checkInPipeline({ ...part, warn, sender })
    }
  }
}
