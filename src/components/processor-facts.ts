import type { OptionSet, Values } from "../config/options/option-types.ts"
import type { Processor } from "../pipeline/event.ts"
import type { KnownSender } from "./known-sender.ts"
import type { Component, Store } from "./define-component.ts"

/*
 * Facts about a pipeline that its processors declare.
 */

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

/** The first store that a processor keeps keys in. */
export function storeOf(
  processors: readonly ({ readonly component: Component; readonly values: Values<OptionSet> } | Processor)[],
): Store | undefined {
  for (const it of processors) {
    const store = typeof it === "function" ? undefined : it.component.store?.(it.values)
    if (store !== undefined) return store
  }
  return undefined
}
