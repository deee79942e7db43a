export { Application } from "./runtime/application.ts"
export type { ApplicationOptions } from "./runtime/application-options.ts"
export { Pipeline, type PipelineParts } from "./runtime/pipeline.ts"
export {
  embeddedConnection,
  kafkaConnection,
  memoryConnection,
  postgresConnection,
  type ConnectionSpec,
  type MemoryConnection,
  type ReadOptions,
  type Registered,
} from "./runtime/connection-spec.ts"
export {
  testHandler,
  type HandledEvent,
  type Handler,
  type HandlerContext,
  type HandlerOptions,
  type TestHandling,
} from "./replay/handler.ts"
export { testPipeline, type TestedEvent, type TestRequest } from "./runtime/test-pipeline.ts"
export * from "./runtime/typed-options.ts"
export type { OwnProvider } from "./verify/verification.ts"
export {
  defineComponent,
  type Component,
  type ComponentContext,
  type Configured,
} from "./components/define-component.ts"
export type { Event, EventContext, Processor, Publisher, RequestInfo } from "./pipeline/event.ts"
export { Accepted, Answered, Dropped, Rejected, type Admission, type Outcome } from "./pipeline/outcome.ts"
export type { AnsweredRequest, OnAnswer } from "./pipeline/outcome-log.ts"
export type { Broker, StoredRecord } from "./brokers/broker.ts"
export type { ReadFrom } from "./brokers/read-topic.ts"
export type { Receipt, Record, RecordHeader } from "./pipeline/record.ts"
export type { Changes } from "./runtime/configuration-diff.ts"
export type { Listening, RunningApplication } from "./runtime/running-application.ts"
export type { MountedFrom } from "./http/peer.ts"
export { HooklineError, PublishError, type FaultCode, type PublishFault } from "./errors.ts"
/** Forms of options, for `defineComponent`: `option.text({ doc: "…" })`. */
export * as option from "./config/options/option-types.ts"
export type { DurationText, SizeText } from "./config/options/option-types.ts"
