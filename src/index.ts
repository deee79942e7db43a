export { Application, Pipeline, type ApplicationOptions, type PipelineParts } from "./application.ts"
export { KafkaConnection, EmbeddedConnection, type ConnectionSpec } from "./connection.ts"
export {
  defineComponent,
  type Component,
  type ComponentContext,
  type Configured,
} from "./components/component.ts"
export { BrokerSink } from "./components/broker-sink.ts"
export { Deduplicator } from "./components/deduplicator.ts"
export { Enricher } from "./components/enricher.ts"
export { Validator } from "./components/validator.ts"
export { Verifier } from "./components/verifier.ts"
export { WebHookSource } from "./components/webhook-source.ts"
export {
  Accepted,
  Answered,
  Dropped,
  Rejected,
  type Admission,
  type Event,
  type Outcome,
  type Processor,
  type Publisher,
  type RequestInfo,
} from "./event.ts"
export type { Changes } from "./changes.ts"
export { HooklineError, PublishError, type FaultCode, type PublishFault } from "./errors.ts"
export type { Receipt, Record, RecordHeader } from "./record.ts"
export type { Listening, Running } from "./running.ts"
export {
  custom,
  duration,
  integer,
  list,
  number,
  oneOf,
  path,
  size,
  text,
  WrongValue,
  type Option,
  type OptionSet,
  type Values,
} from "./config/options.ts"
