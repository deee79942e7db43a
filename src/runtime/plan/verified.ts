import { message, named, setting } from "../../message.ts"
import type { Component } from "../../components/define-component.ts"
import { isLoopback } from "../../addresses/endpoint.ts"
import type { OptionSet, Values } from "../../config/options/option-types.ts"
import type { Processor } from "../../pipeline/event.ts"

interface Steps {
  readonly source: Part | undefined
  readonly processors: readonly (Part | Processor)[]
}

type Part = { readonly component: Pick<Component, "verifies">; readonly values: Partial<Values<OptionSet>> }

/**
 * The index of the first processor that only verified senders' events reach: after the last one that verifies, or 0 where
 * the source does. undefined: senders are not verified.
 */
export function verifiedFrom({ source, processors }: Steps): number | undefined {
  const last = processors.findLastIndex(verifies)
  if (last !== -1) return last + 1
  return source !== undefined && verifies(source) ? 0 : undefined
}

const verifies = (part: Part | Processor): boolean =>
  typeof part === "function" ? part.verifies === true : part.component.verifies?.(part.values) === true

/** Warning of a pipeline that is open to all. */
export const NOT_VERIFIED = message`NOT VERIFIED: every client of this address can publish; add a Verifier, ${named("tls_client_ca")}, or ${setting("host", "127.0.0.1")}`

/** Whether other machines can publish unverified, and nothing observes whether they would be. */
export const isOpenToAll = (steps: Steps, host: string): boolean => !checksSenders(steps) && !isLoopback(host)

/** Whether senders are verified, if only to observe. */
const checksSenders = (steps: Steps): boolean =>
  verifiedFrom(steps) !== undefined ||
  steps.processors.some((it) => typeof it !== "function" && it.component.verifies !== undefined)
