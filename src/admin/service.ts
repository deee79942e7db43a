import type { LogReader, SpoolState } from "../brokers/broker.ts"
import type { Exposition } from "../telemetry/exposition.ts"
import type { EventLocations } from "../verify/presets/event-locations.ts"
import type { Sample } from "./history.ts"

/** The application as the probes see it. */
export interface Status {
  readiness(): Readiness | Promise<Readiness>
  /** @param accept of the request: the format */
  metrics(accept: string | null): Promise<Exposition>
}

/** The application as the admin API sees it: of one process, or of several. */
export interface Service extends Status {
  /** In milliseconds since 1970. */
  readonly startedAtMs: number
  pipelines(): readonly PipelineInfo[]
  connections(): readonly ConnectionInfo[]
  /** The counters of each process that answers. */
  activity(): Promise<readonly Sample[]>
  /** Opens a connection's log for reading; to be closed. @throws HooklineError */
  openReader(connection: string): Promise<LogReader>
}

export interface PipelineInfo {
  readonly id: string
  readonly provider: string | undefined
  /** Whether senders are verified. */
  readonly isVerified: boolean
  readonly url: string
  /** Of its sink. */
  readonly connection: string
  readonly topic: string
  /** Where its events have their id and type. */
  readonly event: EventLocations
  /** The record header of an extraction, such as `event:type`, where the sink writes it. */
  readonly recordHeaders: ReadonlyMap<string, string>
}

export interface ConnectionInfo {
  readonly id: string
  readonly kind: "kafka" | "embedded" | "memory"
  /** Bootstrap servers, or the log's folder. */
  readonly address: string
}

/** The problem of each component, by name; undefined: it is ready. */
export type ComponentProblems = Iterable<readonly [name: string, problem: string | undefined]>

/** Whether events are accepted now, and if not, why. */
export interface Readiness {
  /** `partly ready`: some pipelines or topics accept events, others do not. */
  readonly state: "ready" | "partly ready" | "not ready" | "draining"
  /** By connection id. */
  readonly connections: ComponentProblems
  /** Problems of single topics, by connection id. */
  readonly impaired: Iterable<readonly [id: string, problems: readonly string[]]>
  readonly stores: ComponentProblems
  readonly listeners?: ComponentProblems
  /** By connection id. */
  readonly spools: Iterable<readonly [id: string, state: SpoolState]>
  /** By worker number, where there are several. */
  readonly workers?: ComponentProblems
}
