import type { ResolvedConnection } from "../../brokers/resolve-connection.ts"
import type { Component } from "../../components/define-component.ts"
import type { ConfigurationFile } from "../../config/file/configuration-file.ts"
import { suggest } from "../../words.ts"
import type { Problems } from "../../config/file/problems.ts"
import type { OptionSet } from "../../config/options/option-types.ts"
import type { Resolved } from "../../config/options/resolve.ts"
import type { ADMIN, SERVICE, TRACES } from "../../config/sections.ts"
import type { FORWARD } from "../../config/sections/forward.ts"
import type { Draft } from "./draft.ts"
import type { ResolvedPipeline } from "./resolve-pipelines.ts"

export type ResolvedForward = Resolved<(typeof FORWARD)["options"]>

/** A draft whose options were read, right or wrong. */
export interface ResolvedDraft {
  readonly connections: ReadonlyMap<string, ResolvedConnection>
  readonly pipelines: readonly ResolvedPipeline[]
  readonly draft: Draft
  /** Sections of extensions, by the extension's name and their ids. */
  readonly sections: ReadonlyMap<string, ReadonlyMap<string, Resolved<OptionSet>>>
  readonly forwards: ReadonlyMap<string, ResolvedForward>
  readonly admin: Resolved<(typeof ADMIN)["options"]>
  readonly traces: Resolved<(typeof TRACES)["options"]>
  readonly service: Resolved<(typeof SERVICE)["options"]>
  /** Absolute base of relative paths. */
  readonly baseDir: string
  readonly configuration: ConfigurationFile | undefined
  /** Every component that a file can name. */
  readonly registry: readonly Component[]
  readonly problems: Problems
}

/** The id of the connection that a sink publishes on: the one that it names, else the first. */
export const connectionOf = (
  sink: ResolvedPipeline["sink"],
  connections: ResolvedDraft["connections"],
): unknown => sink?.values.connection ?? connections.keys().next().value

/** What is wrong with the name of a connection that is not configured. */
export const unknownConnection = (id: string, connections: ResolvedDraft["connections"]): string =>
  `unknown connection ${JSON.stringify(id)}${suggest(id, [...connections.keys()], (name) => JSON.stringify(name))}`
