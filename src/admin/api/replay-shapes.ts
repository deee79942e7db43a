import { count, nullable, oneOf, replica, type Static, time, Type } from "./shape.ts"

const name = Type.String({ maxLength: 249 })
const replayFrom = Type.Object({
  connection: name,
  topic: name,
  partition: Type.Optional(Type.Integer({ minimum: 0 })),
  from_offset: Type.Optional(Type.Integer({ minimum: 0 })),
  until_offset: Type.Optional(Type.Integer({ minimum: 0, description: "Before it." })),
  since: Type.Optional(time),
  until: Type.Optional(time),
  where: Type.Optional(Type.String({ maxLength: 1000, description: "As `tail --where`." })),
})

export const ReplayRequest = Type.Object({
  from: replayFrom,
  to: Type.Union([
    Type.Object({ connection: name, topic: name }),
    Type.Object({
      url: Type.String({
        maxLength: 8000,
        description:
          "Each record is posted to it, in order. In a private network: only if `replay_urls` lists it.",
      }),
    }),
  ]),
  rate: Type.Optional(Type.Number({ minimum: 0.001, description: "Records a second." })),
})

export const ReplayCount = Type.Object({ records: count, is_exact: Type.Boolean() })

export const ReplayOverview = Type.Object({
  id: Type.String(),
  replica,
  request: ReplayRequest,
  state: oneOf("running", "paused", "done", "failed", "cancelled"),
  started_at: time,
  ended_at: nullable(time),
  total: nullable(
    Type.Integer({
      minimum: 0,
      description: "Records of the range; null: not known, since only some of them match.",
    }),
  ),
  share: Type.Number({ minimum: 0, maximum: 1, description: "Of the range, how much is done with." }),
  replayed: Type.Integer({ minimum: 0, description: "Records that the target has acknowledged." }),
  failed: Type.Integer({ minimum: 0, description: "Records that it has refused." }),
  missed: Type.Integer({
    minimum: 0,
    description: "Offsets of records that were deleted before they were read.",
  }),
  per_second: Type.Number(),
  remaining_ms: nullable(Type.Number()),
  error: nullable(Type.String({ description: "Why it failed, or waits." })),
  failures: Type.Array(
    Type.Object({ partition: Type.Integer(), offset: Type.Integer(), error: Type.String() }),
    { description: "The last 100." },
  ),
})

export type ReplayRequest = Static<typeof ReplayRequest>
export type ReplayCount = Static<typeof ReplayCount>
export type ReplayOverview = Static<typeof ReplayOverview>
