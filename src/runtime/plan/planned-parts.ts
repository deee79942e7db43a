import type { Connection } from "../../brokers/define-connection.ts"
import type { ResolvedConnection } from "../../brokers/resolve-connection.ts"
import type { ComponentKind } from "../../components/define-component.ts"
import { soundValues } from "../../config/options/resolve.ts"
import type { Planned, PlannedPipeline } from "./draft.ts"
import type { ResolvedPart, ResolvedPipeline } from "./resolve-pipelines.ts"

/*
 * The parts of a valid configuration, as a plan has them.
 */

/** Leaves behind where the options of a valid connection were given. */
export const plannedConnection = (resolved: ResolvedConnection): Connection => ({
  kind: resolved.kind!,
  values: soundValues(resolved)!,
})

/** Leaves behind where the options of a valid pipeline were given. */
export const plannedPipeline = ({
  id,
  source,
  processors,
  sink,
  planned: before,
}: ResolvedPipeline): PlannedPipeline =>
  before ?? {
    id,
    source: planned(source!),
    processors: processors.map((it) => (typeof it === "function" ? it : planned(it))),
    sink: planned(sink!),
  }

const planned = <K extends ComponentKind>({ component, values }: ResolvedPart<K>): Planned<K> => ({
  component,
  values,
})
