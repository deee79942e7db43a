/**
 * What the admin API sends and accepts: the TypeScript types of server and page, and the schemas of its OpenAPI description,
 * from one declaration each. Times are milliseconds since 1970, durations milliseconds, sizes bytes.
 */
import { connectionKindNames } from "../../brokers/registry.ts"
import { count, nullable, oneOf, replica, type Static, time, Type } from "./shape.ts"

export * from "./capture-shapes.ts"
export * from "./problem-shapes.ts"
export * from "./record-shapes.ts"
export * from "./replay-shapes.ts"
export * from "./replica-shapes.ts"

/** A count of refusals by their fixed word, with a sentence for people. */
export const ReasonCount = Type.Object({
  reason: Type.String(),
  words: Type.String({ description: "The reason in a sentence." }),
  count,
})

export const PipelineState = Type.Object({
  name: oneOf("down", "refusing", "silent", "receiving", "idle"),
  words: nullable(
    Type.String({
      description:
        "The problem of its connection or store, its most frequent refusal, or how often events came before.",
    }),
  ),
  since: nullable(time),
})

/** Values by step, the oldest first; null: before the start. */
const series = (description: string) => Type.Array(nullable(Type.Number()), { description })

/** Of a pipeline, and of all together. */
const figures = {
  events_per_second: Type.Number({ description: "Accepted, last minute." }),
  dropped_per_second: Type.Number(),
  refused_per_second: Type.Number(),
  p50_ms: nullable(Type.Number({ description: "To the acknowledgement, last minute." })),
  p99_ms: nullable(Type.Number()),
}

export const PipelineOverview = Type.Object({
  id: Type.String(),
  state: PipelineState,
  provider: nullable(Type.String()),
  is_verified: Type.Boolean(),
  url: Type.String({ description: "Where senders post, as this process listens." }),
  connection: Type.String(),
  topic: Type.String(),
  ...figures,
  refusals: Type.Array(ReasonCount, { description: "Of the last 5 minutes, the most frequent first." }),
  last_event_at: nullable(time),
  sparkline: series("Accepted events a second, the oldest first; null: before the start."),
})

export const SpoolOverview = Type.Object({
  records: count,
  bytes: count,
  oldest_at: nullable(time),
  quarantined: count,
  problem: nullable(Type.String({ description: "Why it accepts no events; null: it does." })),
  outage: nullable(
    Type.String({ description: "Why the broker accepts no events, which are spooled; null: it does." }),
  ),
})

export const ConnectionOverview = Type.Object({
  id: Type.String(),
  kind: oneOf(...connectionKindNames),
  address: Type.String({ description: "Bootstrap servers, or the log's directory." }),
  problem: nullable(Type.String({ description: "Why no events are accepted; null: they are." })),
  problem_since: nullable(time),
  impaired: Type.Array(Type.String(), { description: "Topics that can't be published to, or in part only." }),
  spool: nullable(SpoolOverview),
  disk_used: nullable(
    Type.Number({
      description: "Share of its disk that is in use, or of spool_max_bytes where that is more.",
    }),
  ),
  replica,
})

export const ForwardOverview = Type.Object({
  id: Type.String(),
  from: Type.String(),
  url: Type.String(),
  lag: nullable(count),
  delivered: count,
  refused: count,
  in_flight: count,
  per_second: Type.Number(),
  paused: Type.Boolean(),
  problem: nullable(Type.String()),
  replica,
})

/** The service as a whole. */
export const Totals = Type.Object({
  ...figures,
  unsent: Type.Integer({
    minimum: 0,
    description: "Events in spools, and records that forwards have yet to deliver.",
  }),
  oldest_unsent_at: nullable(Type.Number({ description: "Of the spools." })),
  disk_used: nullable(Type.Number({ description: "Share of the fullest connection's disk." })),
  step_ms: Type.Integer(),
  steps_end: Type.Number({ description: "The end of the last step of each series." }),
  accepted: series("A second, of the last 15 minutes; null: before the start."),
  dropped: series("A second."),
  refused: series("A second."),
})

const ReasonSeries = Type.Object({
  reason: Type.String(),
  words: Type.String(),
  values: series("A second."),
})

export const PipelineDetail = Type.Object({
  pipeline: PipelineOverview,
  sender: nullable(
    Type.String({
      description: "What the provider is known to do with its deliveries; null: nothing is known.",
    }),
  ),
  step_ms: Type.Integer(),
  times: Type.Array(time, { description: "The ends of the steps of every series." }),
  accepted: series("A second; null: before the start."),
  dropped: Type.Array(ReasonSeries),
  refused: Type.Array(ReasonSeries),
  p50_ms: Type.Array(nullable(Type.Number())),
  p99_ms: Type.Array(nullable(Type.Number())),
})

/** What a provider needs, for the page that has no event yet. */
export const ProviderSetup = Type.Object({
  provider: Type.String(),
  title: Type.String(),
  docs: nullable(Type.String()),
  note: nullable(Type.String({ description: "Its pitfalls." })),
  setup: nullable(Type.String({ description: "Where an endpoint is set up there, and what is pasted." })),
  configuration: Type.String({ description: "The lines of pipelines.conf." }),
})

/** Who asks. */
export const Caller = Type.Object({
  token: oneOf("token", "read_token", "replicas_token", "none"),
  may_act: Type.Boolean({
    description: "Whether it may send, replay, change the log level and see secrets.",
  }),
})

export type ReasonCount = Static<typeof ReasonCount>
export type PipelineState = Static<typeof PipelineState>
export type Totals = Static<typeof Totals>
export type PipelineOverview = Static<typeof PipelineOverview>
export type ConnectionOverview = Static<typeof ConnectionOverview>
export type ForwardOverview = Static<typeof ForwardOverview>
export type PipelineDetail = Static<typeof PipelineDetail>
export type ProviderSetup = Static<typeof ProviderSetup>
export type Caller = Static<typeof Caller>
