import { brokerSink } from "./broker-sink.ts"
import { decoder } from "./decoder.ts"
import type { Component } from "./define-component.ts"
import { deduplicator } from "./deduplicator.ts"
import { enricher } from "./enricher.ts"
import { filter } from "./filter.ts"
import { router } from "./router.ts"
import { validator } from "./validator.ts"
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
