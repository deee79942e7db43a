import { nullable, oneOf, replica, time, Type, type Static } from "./shape.ts"

/** What needs someone's action, or has needed it until a few minutes ago. */
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
  runbook: Type.String({
    description: "Its section of the runbook: docs/runbook.md#hooklinebrokerunavailable.",
  }),
})

export type ServiceProblem = Static<typeof ServiceProblem>
