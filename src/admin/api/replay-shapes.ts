import { Type, type Static } from "typebox"
import { count, nullable, time } from "./shape.ts"

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

export type ReplayRequest = Static<typeof ReplayRequest>
export type ReplayCount = Static<typeof ReplayCount>
export type ReplayJob = Static<typeof ReplayJob>
