import type { ServiceProblem } from "../admin/api/problem-shapes.ts"
import type { ServiceStore } from "../admin/store/service-store.ts"
import type { Service } from "../admin/service.ts"
import type { Connection } from "../brokers/define-connection.ts"
import type { Handler } from "../pipeline/compose.ts"
import type { ResourceSpec } from "../pipeline/resource.ts"
import type { Logger } from "../telemetry/log.ts"

/** The parts of a configuration that say where an extension's files and records are. */
export interface Surroundings {
  /** Absolute base of relative paths. */
  readonly baseDir: string
  /** Connections by id; the first serves sinks that name none. */
  readonly connections: { keys(): Iterable<string>; get(id: string): Connection | undefined }
}

/** The service while it builds a pipeline. */
export interface PipelineHost extends Surroundings {
  readonly log: Logger
  /** Opens what outlives reloads, within the start or reload under way. */
  acquire<T>(spec: ResourceSpec<T>): T
}

/** A place in a pipeline: after all of its steps, where the outcome is known. */
export interface PipelineJoin {
  /** A pipeline is opened anew where this has changed. */
  readonly config: unknown
  wrap(handler: Handler): Handler
}

/** The service that an extension runs in. */
export interface Host extends PipelineHost {
  /** Registers what begins with the commit of that start or reload; it must not throw. */
  onCommit(action: () => void): void
  readonly service: HostService
  /** Outlives the process; the same in all replicas where `isShared`. A reload may bring another one. */
  readonly store: ServiceStore
}

/** The service while it runs, across reloads. */
export interface HostService extends Pick<Service, "activity" | "readiness" | "openReader" | "openBroker"> {
  /** The problems that this process finds, as of the last second: those that are there, errors first, then those that are over. */
  problems(): readonly ServiceProblem[]
  /** Has a pipeline answer an event without its sender's signature. @returns the status; 503 also where there is no such pipeline */
  inject(pipeline: string, body: string): Promise<number>
}
