/**
 * What the admin API sends and takes: the TypeScript types of server and page, and the schemas of its OpenAPI description,
 * from one declaration each. Times are milliseconds since 1970, durations milliseconds, sizes bytes.
 */
import { Type, type Static } from "typebox"

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])

const count = Type.Integer({ minimum: 0 })
const time = Type.Number({ description: "Milliseconds since 1970." })

/** A count of refusals by their fixed word, with a sentence for people. */
export const ReasonCount = Type.Object({
  reason: Type.String(),
  words: Type.String({ description: "The reason in a sentence." }),
  count,
})

export const PipelineOverview = Type.Object({
  id: Type.String(),
  provider: nullable(Type.String()),
  is_verified: Type.Boolean(),
  url: Type.String({ description: "Where senders post, as this process listens." }),
  connection: Type.String(),
  topic: Type.String(),
  events_per_second: Type.Number(),
  refused_per_second: Type.Number(),
  refusals: Type.Array(ReasonCount, { description: "Of the last 5 minutes, the most frequent first." }),
  p50_ms: nullable(Type.Number({ description: "To the acknowledgement, last minute." })),
  p99_ms: nullable(Type.Number()),
  last_event_at: nullable(time),
  sparkline: Type.Array(Type.Number(), { description: "Accepted events a second, oldest first." }),
})

export const SpoolOverview = Type.Object({
  records: count,
  bytes: count,
  oldest_at: nullable(time),
  quarantined: count,
  problem: nullable(Type.String()),
})

export const ConnectionOverview = Type.Object({
  id: Type.String(),
  kind: Type.Union([Type.Literal("kafka"), Type.Literal("embedded"), Type.Literal("memory")]),
  address: Type.String({ description: "Bootstrap servers, or the log's directory." }),
  problem: nullable(Type.String({ description: "Why no events are accepted; null: they are." })),
  problem_since: nullable(time),
  impaired: Type.Array(Type.String(), { description: "Topics that can't be published to, or in part only." }),
  spool: nullable(SpoolOverview),
})

/** What needs someone's action now. */
export const Attention = Type.Object({
  level: Type.Union([Type.Literal("warning"), Type.Literal("error")]),
  text: Type.String(),
  pipeline: nullable(Type.String()),
  connection: nullable(Type.String()),
})

export const Overview = Type.Object({
  version: Type.String(),
  state: Type.Union([
    Type.Literal("ready"),
    Type.Literal("partly ready"),
    Type.Literal("not ready"),
    Type.Literal("draining"),
  ]),
  started_at: time,
  now: time,
  sparkline_step_ms: Type.Integer(),
  capture: Type.Union([Type.Literal("refused"), Type.Literal("all"), Type.Literal("off")]),
  captured_refusals: count,
  attention: Type.Array(Attention),
  connections: Type.Array(ConnectionOverview),
  pipelines: Type.Array(PipelineOverview),
})

export const PipelineDetail = Type.Object({
  pipeline: PipelineOverview,
  step_ms: Type.Integer(),
  times: Type.Array(time, { description: "The ends of the steps of every series." }),
  accepted: Type.Array(Type.Number({ description: "A second." })),
  refused: Type.Array(Type.Object({ reason: Type.String(), values: Type.Array(Type.Number()) })),
  p50_ms: Type.Array(nullable(Type.Number())),
  p99_ms: Type.Array(nullable(Type.Number())),
})

export const Topic = Type.Object({
  connection: Type.String(),
  topic: Type.String(),
  partitions: count,
  records: count,
  bytes: nullable(count),
})

/** A record in a list. `type` and `id` are the event's, where the preset knows them. */
export const RecordSummary = Type.Object({
  partition: Type.Integer(),
  offset: Type.Integer(),
  timestamp: time,
  key: nullable(Type.String()),
  bytes: count,
  type: nullable(Type.String()),
  event_id: nullable(Type.String()),
  preview: Type.String({ description: "The beginning of the value." }),
})

export const RecordPage = Type.Object({
  records: Type.Array(RecordSummary, { description: "The newest first." }),
  older: nullable(Type.String({ description: "Value of `before` for the next page; null: there is none." })),
  scanned: count,
})

export const Header = Type.Object({ name: Type.String(), value: Type.String() })

export const RecordDetail = Type.Object({
  connection: Type.String(),
  topic: Type.String(),
  pipeline: nullable(Type.String({ description: "The first pipeline that publishes to the topic." })),
  summary: RecordSummary,
  key_base64: nullable(Type.String()),
  value_base64: Type.String(),
  headers: Type.Array(Header),
})

/** A batch of a live tail. */
export const LiveRecords = Type.Object({
  records: Type.Array(RecordSummary, { description: "The oldest first." }),
  skipped: Type.Integer({ description: "Records left out since more came than a page can show." }),
})

export const CaptureSummary = Type.Object({
  id: Type.String(),
  at: time,
  pipeline: nullable(Type.String()),
  method: Type.String(),
  path: Type.String(),
  remote_address: Type.String(),
  outcome: Type.Union([
    Type.Literal("accepted"),
    Type.Literal("dropped"),
    Type.Literal("rejected"),
    Type.Literal("answered"),
  ]),
  status: Type.Integer(),
  reason: Type.String(),
  words: Type.String(),
  bytes: count,
})

export const CaptureDetail = Type.Object({
  summary: CaptureSummary,
  url: Type.String(),
  headers: Type.Array(Header, { description: "Secrets and signatures masked." }),
  body_base64: nullable(Type.String({ description: "null: it was not read, or not kept." })),
  is_truncated: Type.Boolean(),
  detail: nullable(Type.String()),
  record: nullable(
    Type.Object({
      connection: Type.String(),
      topic: Type.String(),
      partition: Type.Integer(),
      offset: Type.Integer(),
    }),
  ),
})

/** What `hookline verify` says of a captured request. */
export const CaptureExplanation = Type.Object({
  provider: nullable(Type.String()),
  is_verified: Type.Boolean(),
  result: Type.String({ description: "The result as a sentence." }),
  steps: Type.Array(
    Type.Object({
      name: Type.String(),
      state: Type.Union([Type.Literal("passed"), Type.Literal("failed"), Type.Literal("not reached")]),
      lines: Type.Array(Type.String()),
    }),
  ),
  mistakes: Type.Array(
    Type.Object({ problem: Type.String(), remedy: Type.String(), is_certain: Type.Boolean() }),
  ),
  configuration: nullable(Type.String({ description: "Lines of pipelines.conf that would mend it." })),
  note: nullable(Type.String()),
})

/** The answer that a sent or repeated request got. */
export const SendResult = Type.Object({
  status: Type.Integer({ description: "0: no answer." }),
  duration_ms: Type.Number(),
  headers: Type.Array(Header),
  body: Type.String(),
  error: nullable(Type.String()),
  record: CaptureDetail.properties.record,
})

export const Sample = Type.Object({
  pipeline: Type.String(),
  provider: nullable(Type.String()),
  method: Type.String(),
  url: Type.String(),
  content_type: Type.String(),
  body: Type.String(),
  signed: Type.Boolean({ description: "Whether it can be signed with the pipeline's own secret." }),
  problem: nullable(Type.String({ description: "Why it can't be sent from here; null: it can." })),
})

export const SendRequest = Type.Object({
  pipeline: Type.String(),
  body: Type.String(),
  content_type: Type.Optional(Type.String()),
})

const replayFrom = Type.Object({
  connection: Type.String(),
  topic: Type.String(),
  partition: Type.Optional(Type.Integer()),
  from_offset: Type.Optional(Type.Integer()),
  until_offset: Type.Optional(Type.Integer({ description: "Before it." })),
  since: Type.Optional(time),
  until: Type.Optional(time),
  where: Type.Optional(Type.String({ description: "As `tail --where`." })),
})

export const ReplayRequest = Type.Object({
  from: replayFrom,
  to: Type.Union([
    Type.Object({ connection: Type.String(), topic: Type.String() }),
    Type.Object({ url: Type.String() }),
  ]),
  rate: Type.Optional(Type.Number({ minimum: 0.001, description: "Records a second." })),
})

export const ReplayCount = Type.Object({ records: count, is_exact: Type.Boolean() })

export const ReplayJob = Type.Object({
  id: Type.String(),
  request: ReplayRequest,
  state: Type.Union([
    Type.Literal("running"),
    Type.Literal("paused"),
    Type.Literal("done"),
    Type.Literal("failed"),
    Type.Literal("cancelled"),
  ]),
  started_at: time,
  total: nullable(count),
  replayed: count,
  failed: count,
  per_second: Type.Number(),
  remaining_ms: nullable(Type.Number()),
  error: nullable(Type.String()),
  failures: Type.Array(
    Type.Object({ partition: Type.Integer(), offset: Type.Integer(), error: Type.String() }),
    { description: "The last 100." },
  ),
})

/** For the empty page: what a provider needs. */
export const ProviderSetup = Type.Object({
  provider: Type.String(),
  title: Type.String(),
  docs: nullable(Type.String()),
  configuration: Type.String({ description: "The lines of pipelines.conf." }),
})

export const LogLevel = Type.Object({
  level: Type.Union(
    (["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const).map((it) => Type.Literal(it)),
  ),
})

export type ReasonCount = Static<typeof ReasonCount>
export type PipelineOverview = Static<typeof PipelineOverview>
export type ConnectionOverview = Static<typeof ConnectionOverview>
export type Attention = Static<typeof Attention>
export type Overview = Static<typeof Overview>
export type PipelineDetail = Static<typeof PipelineDetail>
export type Topic = Static<typeof Topic>
export type RecordSummary = Static<typeof RecordSummary>
export type RecordPage = Static<typeof RecordPage>
export type RecordDetail = Static<typeof RecordDetail>
export type LiveRecords = Static<typeof LiveRecords>
export type CaptureSummary = Static<typeof CaptureSummary>
export type CaptureDetail = Static<typeof CaptureDetail>
export type CaptureExplanation = Static<typeof CaptureExplanation>
export type SendResult = Static<typeof SendResult>
export type Sample = Static<typeof Sample>
export type SendRequest = Static<typeof SendRequest>
export type ReplayRequest = Static<typeof ReplayRequest>
export type ReplayCount = Static<typeof ReplayCount>
export type ReplayJob = Static<typeof ReplayJob>
export type ProviderSetup = Static<typeof ProviderSetup>
export type LogLevel = Static<typeof LogLevel>
