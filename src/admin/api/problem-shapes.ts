import { nullable, oneOf, replica, time, Type, type Static } from "./shape.ts"

/** Somebody who said that a problem is known. */
export const Acknowledgement = Type.Object({
  by: Type.String({ maxLength: 200 }),
  until: nullable(Type.Number({ description: "Milliseconds since 1970; null: until it is taken back." })),
})

/** A problem that needs someone's action, or has needed it until a few minutes ago. */
export const ServiceProblem = Type.Object({
  id: Type.String({
    description:
      "Its kind and what it is about, the same over time and in all replicas: connection_down:kafka.",
  }),
  kind: Type.String({ description: "A word that stays the same from release to release: connection_down." }),
  severity: oneOf("warning", "error"),
  pipeline: nullable(Type.String()),
  connection: nullable(Type.String()),
  replica,
  since: time,
  until: nullable(Type.Number({ description: "When it ended; null: it is there." })),
  cause: Type.String({ description: "What is wrong, in words." }),
  next_step: Type.String({ description: "What to do first." }),
  acknowledged: nullable(Acknowledgement),
  muted: nullable(Acknowledgement),
  runbook: Type.String({
    description: "Its section of the runbook: docs/runbook.md#hooklinebrokerunavailable.",
  }),
})

/** A problem's id or a kind that is muted. */
export const Mute = Type.Object({
  name: Type.String(),
  by: Type.String(),
  until: Acknowledgement.properties.until,
})

export type Acknowledgement = Static<typeof Acknowledgement>
export type Mute = Static<typeof Mute>
export type ServiceProblem = Static<typeof ServiceProblem>
