/** What replicas ask each other for, and have each other do. */
import { NOTES } from "../../telemetry/activity.ts"
import { READINESS_STATES } from "../../telemetry/gauges.ts"
import { count, nullable, oneOf, type Static, time, Type } from "./shape.ts"

/** Another replica of the service. */
export const ReplicaOverview = Type.Object({
  replica: Type.String({ description: "Its address." }),
  host: nullable(Type.String({ description: "The name of its machine or pod; null: not known." })),
  state: nullable(oneOf(...READINESS_STATES)),
  problem: nullable(Type.String({ description: "Why its answers are left out; null: they are not." })),
})

export const Reloaded = Type.Object({
  changed: Type.Array(Type.String(), {
    description: "What is different, as `pipelines_changed: a, b`; none: the configuration is as before.",
  }),
})

/** Who runs a replay, or is about to. */
export const ReplayClaim = Type.Object({
  id: Type.String(),
  key: Type.String({ description: "The same for replays of one topic to one target." }),
  process: Type.String({ description: "As in the overview." }),
  host: Type.String(),
  since: time,
  is_held: Type.Boolean({ description: "false: it has not asked all others yet." }),
})

/** The counters of a replica since its start. */
export const ProcessActivity = Type.Object({
  process: Type.String({ description: "Unique, another one after a restart." }),
  events: Type.Array(
    Type.Object({ pipeline: Type.String(), outcome: Type.String(), reason: Type.String(), count }),
  ),
  bounds: Type.Array(Type.Number(), { description: "Of the buckets of latencies, in seconds." }),
  latencies: Type.Array(Type.Object({ pipeline: Type.String(), counts: Type.Array(count) })),
  notes: Type.Array(Type.Object({ pipeline: Type.String(), note: oneOf(...NOTES), count })),
})

export const LoggedLevel = Type.Object({
  level: oneOf("fatal", "error", "warn", "info", "debug", "trace", "silent"),
})

export const ChangedLevel = Type.Object({
  ...LoggedLevel.properties,
  replicas_left_out: Type.Array(Type.String(), { description: "Their level has not changed." }),
})

export type LoggedLevel = Static<typeof LoggedLevel>
export type ProcessActivity = Static<typeof ProcessActivity>
export type ReplayClaim = Static<typeof ReplayClaim>
export type Reloaded = Static<typeof Reloaded>
export type ReplicaOverview = Static<typeof ReplicaOverview>
