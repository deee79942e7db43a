import { BrokerSink } from "./broker-sink.ts"
import type { Component } from "./component.ts"
import { Deduplicator } from "./deduplicator.ts"
import { Enricher } from "./enricher.ts"
import { Validator } from "./validator.ts"
import { Verifier } from "./verifier.ts"
import { WebHookSource } from "./webhook-source.ts"

/** Every component that the configuration file can name, in the order of an event's way. */
export const components: readonly Component[] = [
  WebHookSource,
  Verifier,
  Validator,
  Deduplicator,
  Enricher,
  BrokerSink,
] as readonly Component[]
