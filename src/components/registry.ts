import { brokerSink } from "./broker-sink.ts"
import { decoder } from "./decoder.ts"
import type { Component } from "./define-component.ts"
import { deduplicator } from "./deduplicator.ts"
import { enricher } from "./enricher.ts"
import { filter } from "./filter.ts"
import { router } from "./router.ts"
import { validator } from "./validator.ts"
import { HooklineError } from "../errors.ts"
import { verifier } from "./verifier.ts"
import { webHookSource } from "./webhook-source.ts"

/** Every component that a file can name, in pipeline order. */
export const components: readonly Component[] = [
  webHookSource,
  verifier,
  decoder,
  validator,
  filter,
  deduplicator,
  enricher,
  router,
  brokerSink,
  // each has options of its own, which those of a Component in general do not overlap with
] satisfies readonly Pick<Component, "kind" | "title">[] as unknown as readonly Component[]

export const isBuiltIn = (component: Component): boolean =>
  components.some(({ title }) => title === component.title)

/**
 * The components that a file can name, with others in addition: their processors stand before the Deduplicator.
 *
 * @throws HooklineError `config` for a name that another one has
 */
export function registryWith(own: readonly Component[]): readonly Component[] {
  const names = new Set(components.flatMap(({ title, aliases }) => [title, ...aliases]))
  for (const { title, aliases } of own)
    for (const name of [title, ...aliases]) {
      if (names.has(name))
        throw new HooklineError(
          "config",
          `component ${name}: another component has this name; choose another`,
        )
      names.add(name)
    }
  const at = components.indexOf(deduplicator as unknown as Component)
  return own.length === 0 ? components : [...components.slice(0, at), ...own, ...components.slice(at)]
}
