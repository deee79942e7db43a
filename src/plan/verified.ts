import type { Component } from "../components/component.ts"
import type { OptionSet, Values } from "../config/option.ts"
import type { Processor } from "../event.ts"

interface Part {
  readonly component: Pick<Component, "verifies">
  readonly values: Partial<Values<OptionSet>>
}

interface Steps {
  readonly source: Part | undefined
  readonly processors: readonly (Part | Processor)[]
}

/**
 * The index of the first processor that is reached by events of verified senders alone: the one behind the last that
 * keeps others out, or 0 where the source does.
 *
 * @returns undefined when nothing keeps others out
 */
export function verifiedFrom({ source, processors }: Steps): number | undefined {
  const last = processors.findLastIndex(verifies)
  if (last !== -1) return last + 1
  return source !== undefined && verifies(source) ? 0 : undefined
}

const verifies = (part: Part | Processor): boolean =>
  typeof part === "function" ? part.verifies === true : part.component.verifies?.(part.values) === true
