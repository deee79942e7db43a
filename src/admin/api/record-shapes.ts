/** What the admin API sends of topics, their records and the groups that read them. */
import { count, Header, nullable, type Static, time, Type } from "./shape.ts"

export const TopicOverview = Type.Object({
  connection: Type.String(),
  topic: Type.String(),
  partitions: count,
  records: count,
  bytes: nullable(count),
})

/** A record in a list. `type` and `event_id` are the event's by its preset, else its members `type` and `id`. */
export const RecordSummary = Type.Object({
  topic: Type.String(),
  partition: Type.Integer(),
  slot: Type.Integer({ description: "Its partition in `older` and in the ids of live events." }),
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
  left_out: Type.Integer({ description: "Topics that are too many to be read with the others." }),
})

export const RecordCounts = Type.Object({
  since: time,
  until: time,
  counts: Type.Array(count, { description: "Of equal parts of that time; none: there is no record." }),
})

export const RecordDetail = Type.Object({
  connection: Type.String(),
  topic: Type.String(),
  pipeline: nullable(Type.String({ description: "The first pipeline that publishes to the topic." })),
  summary: RecordSummary,
  key_base64: nullable(Type.String()),
  value_base64: Type.String(),
  headers: Type.Array(Header),
})

export const GroupOverview = Type.Object({
  connection: Type.String(),
  group: Type.String(),
  topic: Type.String(),
  lag: Type.Integer({
    minimum: 0,
    description: "Records after the offsets that it has committed; of partitions without one, all.",
  }),
  state: Type.String({ description: "As Kafka names it: `Stable`, `Empty`, …" }),
  members: nullable(count),
  positions: Type.Array(Type.Object({ partition: Type.Integer(), next: count, end: count })),
})

export const ConsumerGroups = Type.Object({
  groups: Type.Array(GroupOverview, {
    description: "A row for each group and topic; those behind come first.",
  }),
  left_out: Type.Integer({ description: "Rows beyond the first 500." }),
  problems: Type.Array(Type.Object({ connection: Type.String(), problem: Type.String() })),
})

/** A batch of a live tail. */
export const LiveRecords = Type.Object({
  records: Type.Array(RecordSummary, { description: "The oldest first." }),
  skipped: Type.Integer({ description: "Records left out since more came than a page can show." }),
})

export type ConsumerGroups = Static<typeof ConsumerGroups>
export type GroupOverview = Static<typeof GroupOverview>
export type RecordCounts = Static<typeof RecordCounts>
export type RecordDetail = Static<typeof RecordDetail>
export type TopicOverview = Static<typeof TopicOverview>
export type RecordSummary = Static<typeof RecordSummary>
export type RecordPage = Static<typeof RecordPage>
export type LiveRecords = Static<typeof LiveRecords>
