import { READINESS_STATES } from "../../telemetry/gauges.ts"
import type { SectionList, SectionRow } from "../extension-state.ts"
import { ServiceProblem } from "./problem-shapes.ts"
import { ReplayOverview } from "./replay-shapes.ts"
import { ReplicaOverview } from "./replica-shapes.ts"
import { oneOf, time, Type, type Static } from "./shape.ts"
import { ConnectionOverview, ForwardOverview, PipelineOverview, Totals } from "./shapes.ts"

/** The shape of an overview: its lists of sections depend on which extensions there are. */
export const overviewShape = (lists: readonly SectionList[]) =>
  Type.Object({
    version: Type.String(),
    process: Type.String({ description: "Unique, another one after a restart." }),
    host: Type.String({ description: "The name of the machine or pod." }),
    state: oneOf(...READINESS_STATES),
    started_at: time,
    configuration_loaded_at: time,
    now: time,
    sparkline_step_ms: Type.Integer(),
    capture: oneOf("refused", "all", "off"),
    refused: Type.Integer({
      minimum: 0,
      description: "Requests refused since the start, or since they were forgotten, captured or not.",
    }),
    totals: Totals,
    problems: Type.Array(ServiceProblem, { description: "The first fifty." }),
    connections: Type.Array(ConnectionOverview),
    pipelines: Type.Array(PipelineOverview),
    ...(Object.fromEntries(lists.map(({ plural, row }) => [plural, Type.Array(row)])) as object),
    forwards: Type.Array(ForwardOverview),
    replicas: Type.Array(ReplicaOverview, { description: "The others, as of the last second or two." }),
    replays: Type.Optional(Type.Array(ReplayOverview, { description: "Of this replica, with `replays`." })),
  })

export type Overview = Static<ReturnType<typeof overviewShape>>

/** The rows of a list of sections in an overview that has its shape. */
export const sectionsIn = (overview: Overview, plural: string): readonly SectionRow[] =>
  (overview as unknown as { readonly [plural: string]: readonly SectionRow[] })[plural] ?? []
