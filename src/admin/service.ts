import type { ConnectionKindName } from "../brokers/registry.ts"
import type { Broker, GroupOffsets, LogReader, SpoolState } from "../brokers/broker.ts"
import type { CaptureMode } from "../config/sections.ts"
import type { Servers } from "../http/server.ts"
import type { ConfigurationState, ForwardGauges, ReadinessState } from "../telemetry/gauges.ts"
import type { Exposition } from "../telemetry/text-formats.ts"
import type { LogLevel } from "../telemetry/log.ts"
import type { Report, SourceLimits } from "../verify/explanation.ts"
import type { EventLocations } from "../verify/senders.ts"
import type { SignedRequest, Verification } from "../verify/verification.ts"
import type { Captures } from "./captured.ts"
import type { ExtensionState, SectionList, SectionRow } from "./extension-state.ts"
import type { ActivitySample } from "./history.ts"
import type { ProblemKind } from "./problems/finding.ts"
import type { Replays } from "./replays.ts"

/** `brokers`: Kafka connections without a spool, which fail for all replicas at once. */
export type Exclusion = "brokers"

/** The application as the admin API sees it. */
export interface Service {
  /** Of this process; unique, another one after a restart. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly startedAtMs: number
  configuration(): ConfigurationState
  /** @param exclude what the answer does not depend on */
  readiness(exclude?: Exclusion): Readiness
  /** @param accept of the request: the format */
  metrics(accept: string | null): Exposition
  pipelines(): readonly PipelineInfo[]
  connections(): readonly ConnectionInfo[]
  activity(): Promise<ActivitySample>
  /** Opens a connection's log for reading; to be closed. @throws HooklineError */
  openReader(connection: string): Promise<LogReader>
  /** Opens a broker, to be closed; pipelines may use it too. @throws HooklineError */
  openBroker(connection: string): Promise<Broker>
  /** The consumer groups of a connection. @throws HooklineError */
  groups(connection: string): Promise<readonly GroupOffsets[]>
  forwards(): readonly ForwardInfo[]
  /** The extensions that run. */
  extensions(): readonly ExtensionState[]
  /** Every kind of problem. */
  readonly problemKinds: readonly ProblemKind[]
  /** The lists of sections that the overview has, whether or not any runs. */
  readonly sectionLists: readonly SectionList[]
  /** The sections of a list that run. */
  sections(plural: string): readonly SectionRow[]
  captureMode(): CaptureMode
  readonly receiver: Receiver
  /** How a pipeline verifies requests, by its Verifiers in order; none: it does not, or there is no such pipeline. */
  verifications(pipeline: string): readonly Verification[]
  /** Why a pipeline verifies a request of that time or refuses it; its body is undefined where not all of it was kept. */
  explain(
    pipeline: string,
    request: Omit<SignedRequest, "body"> & { readonly body: Uint8Array | undefined },
    atMs: number,
  ): Promise<Report>
  readonly replays: Replays
  /** Reads the configuration again, and changes to it. @returns what has changed. @throws HooklineError why nothing has */
  reload(): Promise<string[]>
  logLevel(): LogLevel
  /** Sets the level until a reload. */
  setLogLevel(level: LogLevel): Promise<void>
}

/** A `[forward:<id>]` section, and how far it is. */
export interface ForwardInfo extends ForwardGauges {
  /** `<connection>/<topic>` */
  readonly from: string
  /** Without what may be secret in it. */
  readonly url: string
  readonly perSecond: number
  /** Durably pauses it, or resumes it; that takes effect within seconds. @throws HooklineError */
  setPaused(isPaused: boolean): Promise<void>
}

/** The part that receives webhooks. */
export interface Receiver {
  readonly captures: Captures
  readonly submit: Servers["submit"]
}

export interface PipelineInfo {
  readonly id: string
  readonly provider: string | undefined
  /** Whether senders are verified. */
  readonly isVerified: boolean
  /** Where it listens; empty: it has no port of its own. */
  readonly url: string
  /** Its path, which a `*` may end, and the URL of it that schemes sign. */
  readonly path: string
  readonly signedUrl: string
  /** Of its source. */
  readonly limits: SourceLimits
  /** The connection of its sink. */
  readonly connection: string
  readonly topic: string
  /** Where its events have their id and type. */
  readonly event: EventLocations
  /** The record header of an extraction, such as `event:type`, where the sink writes it. */
  readonly recordHeaders: ReadonlyMap<string, string>
}

export interface ConnectionInfo {
  readonly id: string
  readonly kind: ConnectionKindName
  /** Bootstrap servers, or the log's folder. */
  readonly address: string
  /** Of the files of its log or spool; undefined: it has none. */
  readonly folder: string | undefined
}

/** The problem of each component, by name; undefined: it is ready. */
export type ComponentProblems = Iterable<readonly [name: string, problem: string | undefined]>

/** Whether events are accepted now, and if not, why. */
export interface Readiness {
  /** `partly ready`: some pipelines or topics accept events, others do not. */
  readonly state: ReadinessState
  /** Pipelines that accept no events because of their connection or store, by id. */
  readonly pipelines: ComponentProblems
  /** Connections by id. */
  readonly connections: ComponentProblems
  /** Problems of single topics, by connection id. */
  readonly impaired: Iterable<readonly [id: string, problems: readonly string[]]>
  readonly stores: ComponentProblems
  readonly listeners?: ComponentProblems
  /** Spools by connection id. */
  readonly spools: Iterable<readonly [id: string, state: SpoolState]>
}
