import type { ResolvedConnection } from "../../brokers/resolve-connection.ts"
import type { ResolvedPipeline } from "./resolve-pipelines.ts"

export type Connections = ReadonlyMap<string, ResolvedConnection>

/** The id of the connection that a sink publishes on: the one that it names, else the first. */
export const connectionOf = (sink: ResolvedPipeline["sink"], connections: Connections): unknown =>
  sink?.values.connection ?? connections.keys().next().value
