import { storeOf } from "../../components/processor-facts.ts"
import { parseRedisUrl } from "../../addresses/redis-url.ts"
import { OutcomeFolder, type OutcomeStore } from "./outcome-index.ts"
import { SharedReconcile, type SharedPlace } from "./shared-reconcile.ts"
import type { Surroundings } from "../host.ts"
import { sectionFolder } from "../owned-section.ts"
import type { PlannedReconcile } from "./plan.ts"

/** The folder and shared state of a section, and the connection that it publishes its certificates on. */
export interface ReconcilePlace {
  readonly connection: string
  readonly folder: string
  /** undefined: the pipeline has no store that replicas share. */
  readonly shared: SharedPlace | undefined
}

export function placeIn(
  { id, values, pipeline, provider }: PlannedReconcile,
  { baseDir, connections }: Surroundings,
): ReconcilePlace {
  const { connection = [...connections.keys()][0] ?? "" } = pipeline.sink.values as { connection?: string }
  const folder = values.directory ?? sectionFolder(connections.get(connection), baseDir)
  const { store = "", ca } = storeOf(pipeline.processors) ?? {}
  const name = parseRedisUrl(store)?.name
  if (name === undefined) return { connection, folder, shared: undefined }
  // services that share a Redis may have sections of one id
  const which = [provider, values.api, values.endpoint, pipeline.id, pipeline.source.values["path"]]
  const reconcile = `${id}:${Bun.hash(JSON.stringify(which)).toString(36)}`
  return { connection, folder, shared: { url: store, name, ca, reconcile } }
}

/** Opens the outcomes of a section's events, for a sender whose list does not say what it got. */
export function openOutcomes({ id }: PlannedReconcile, { folder, shared }: ReconcilePlace): OutcomeStore {
  return shared === undefined ? new OutcomeFolder(folder, id) : new SharedReconcile(shared)
}
