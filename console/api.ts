// Made from the admin API's OpenAPI document by `npm run docs`.

export type Problem = {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
}

export type Attention = {
  readonly level: "warning" | "error"
  readonly text: string
  readonly pipeline: string | null
  readonly connection: string | null
}

export type CaptureDetail = {
  readonly summary: CaptureSummary
  readonly url: string
  readonly came_at: number
  readonly headers: readonly ({ readonly name: string; readonly value: string })[]
  readonly body_base64: string | null
  readonly is_masked: boolean
  readonly is_truncated: boolean
  readonly detail: string | null
  readonly record: { readonly connection: string; readonly topic: string; readonly partition: number; readonly offset: number } | null
}

export type CaptureExplanation = {
  readonly provider: string | null
  readonly is_verified: boolean
  readonly reason: string | null
  readonly detail: string | null
  readonly result: string
  readonly steps: readonly ({ readonly name: string; readonly state: "passed" | "failed" | "not reached"; readonly lines: readonly (string)[] })[]
  readonly mistakes: readonly ({ readonly kind: string; readonly problem: string; readonly remedy: string; readonly is_certain: boolean })[]
  readonly configuration: string | null
  readonly note: string | null
  readonly warnings: readonly (string)[]
}

export type CaptureSummary = {
  readonly id: string
  readonly request_id: string
  readonly at: number
  readonly pipeline: string | null
  readonly method: string
  readonly path: string
  readonly remote_address: string
  readonly outcome: "accepted" | "dropped" | "rejected" | "answered"
  readonly status: number
  readonly reason: string
  readonly words: string
  readonly bytes: number | null
}

export type ConnectionOverview = {
  readonly id: string
  readonly kind: "kafka" | "embedded" | "memory"
  readonly address: string
  readonly problem: string | null
  readonly problem_since: number | null
  readonly impaired: readonly (string)[]
  readonly spool: SpoolOverview | null
}

export type LiveRecords = {
  readonly records: readonly (RecordSummary)[]
  readonly skipped: number
}

export type LoggedLevel = {
  readonly level: "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent"
}

export type Overview = {
  readonly version: string
  readonly state: "ready" | "partly ready" | "not ready" | "draining"
  readonly started_at: number
  readonly now: number
  readonly sparkline_step_ms: number
  readonly capture: "refused" | "all" | "off"
  readonly captured_refusals: number
  readonly attention: readonly (Attention)[]
  readonly connections: readonly (ConnectionOverview)[]
  readonly pipelines: readonly (PipelineOverview)[]
}

export type PipelineDetail = {
  readonly pipeline: PipelineOverview
  readonly step_ms: number
  readonly times: readonly (number)[]
  readonly accepted: readonly (number)[]
  readonly refused: readonly ({ readonly reason: string; readonly values: readonly (number)[] })[]
  readonly p50_ms: readonly (number | null)[]
  readonly p99_ms: readonly (number | null)[]
}

export type PipelineOverview = {
  readonly id: string
  readonly provider: string | null
  readonly is_verified: boolean
  readonly url: string
  readonly connection: string
  readonly topic: string
  readonly events_per_second: number
  readonly refused_per_second: number
  readonly refusals: readonly (ReasonCount)[]
  readonly p50_ms: number | null
  readonly p99_ms: number | null
  readonly last_event_at: number | null
  readonly sparkline: readonly (number)[]
}

export type ProviderSetup = {
  readonly provider: string
  readonly title: string
  readonly docs: string | null
  readonly note: string | null
  readonly configuration: string
}

export type ReasonCount = {
  readonly reason: string
  readonly words: string
  readonly count: number
}

export type RecordDetail = {
  readonly connection: string
  readonly topic: string
  readonly pipeline: string | null
  readonly summary: RecordSummary
  readonly key_base64: string | null
  readonly value_base64: string
  readonly headers: readonly ({ readonly name: string; readonly value: string })[]
}

export type RecordPage = {
  readonly records: readonly (RecordSummary)[]
  readonly older: string | null
  readonly scanned: number
}

export type RecordSummary = {
  readonly partition: number
  readonly offset: number
  readonly timestamp: number
  readonly key: string | null
  readonly bytes: number
  readonly type: string | null
  readonly event_id: string | null
  readonly preview: string
}

export type ReplayCount = {
  readonly records: number
  readonly is_exact: boolean
}

export type ReplayOverview = {
  readonly id: string
  readonly request: ReplayRequest
  readonly state: "running" | "paused" | "done" | "failed" | "cancelled"
  readonly started_at: number
  readonly ended_at: number | null
  readonly total: number | null
  readonly share: number
  readonly replayed: number
  readonly failed: number
  readonly missed: number
  readonly per_second: number
  readonly remaining_ms: number | null
  readonly error: string | null
  readonly failures: readonly ({ readonly partition: number; readonly offset: number; readonly error: string })[]
}

export type ReplayRequest = {
  readonly from: { readonly connection: string; readonly topic: string; readonly partition?: number; readonly from_offset?: number; readonly until_offset?: number; readonly since?: number; readonly until?: number; readonly where?: string }
  readonly to: { readonly connection: string; readonly topic: string } | { readonly url: string }
  readonly rate?: number
}

export type SampleRequest = {
  readonly pipeline: string
  readonly provider: string | null
  readonly method: string
  readonly url: string
  readonly content_type: string
  readonly body: string
  readonly signed: boolean
  readonly problem: string | null
}

export type SendRequest = {
  readonly pipeline: string
  readonly body: string
  readonly content_type?: string
  readonly provider?: string
  readonly signed?: boolean
}

export type SendResult = {
  readonly status: number
  readonly duration_ms: number
  readonly headers: readonly ({ readonly name: string; readonly value: string })[]
  readonly body: string
  readonly error: string | null
  readonly record: { readonly connection: string; readonly topic: string; readonly partition: number; readonly offset: number } | null
}

export type SpoolOverview = {
  readonly records: number
  readonly bytes: number
  readonly oldest_at: number | null
  readonly quarantined: number
  readonly problem: string | null
}

export type TopicOverview = {
  readonly connection: string
  readonly topic: string
  readonly partitions: number
  readonly records: number
  readonly bytes: number | null
}
