import { dirname } from "node:path"
import { Replays, type ReplayConnections } from "../admin/replays.ts"
import type { ConnectionKindName } from "../brokers/registry.ts"
import type { Broker } from "../brokers/broker.ts"
import type { ConnectionInfo, PipelineInfo, Service } from "../admin/service.ts"
import { HooklineError } from "../errors.ts"
import { captureOf } from "../config/sections.ts"
import type { ActivitySample } from "../admin/history.ts"
import type { ConfigurationState } from "../telemetry/gauges.ts"
import type { Exposition } from "../telemetry/text-formats.ts"
import type { Logger, LogLevel } from "../telemetry/log.ts"
import { notJudged } from "../verify/explanation.ts"
import { extensions, problemKinds, sectionLists } from "../extensions/registry.ts"
import { describeChanges } from "./configuration-diff.ts"
import { explainRequest, urlAsTakenBy, verificationsOf } from "./explain-request.ts"
import { redisOf } from "./plan/redis.ts"
import type { Plan, PlannedPipeline } from "./plan/plan.ts"
import { senderOf } from "../components/processor-facts.ts"
import { verifiedFrom } from "./plan/verified.ts"
import type { RunningForward } from "./forwards.ts"
import type { RunningExtensions } from "./extensions.ts"
import { SharedBroker } from "./shared-broker.ts"
import type { Listening, ReloadableApplication } from "./running-application.ts"

/** What runs. */
export interface Running extends Pick<Service, "id" | "readiness" | "receiver" | "setLogLevel"> {
  readonly log: Logger
  readonly plan: Plan
  readonly listening: readonly Listening[]
  readonly forwards: readonly RunningForward[]
  readonly extensions: RunningExtensions
  readonly configuration: ConfigurationState
  readonly reloadAgain: ReloadableApplication["reloadAgain"]
  /** The broker of a connection, open for pipelines. */
  broker(connection: string): Broker | undefined
  /** @param accept of the request: the format */
  expose(accept: string | null): Exposition
  activity(): Promise<ActivitySample>
}

/** The parts of the running application that the admin API reads. */
export function adminService(running: Running): Service {
  const openReader: Service["openReader"] = async (id) => {
    const { kind, values } = running.plan.connections.get(id)!
    return kind.openReader(values)
  }
  const openBroker: Service["openBroker"] = async (id) => {
    const { kind, values } = running.plan.connections.get(id)!
    return kind.hasOneWriter ? new SharedBroker(() => running.broker(id)) : kind.open(values, running.log)
  }
  const connections: ReplayConnections = {
    connection: (id) => running.plan.connections.get(id),
    openReader,
    openBroker,
    process: running.id,
    redis: () => redisOf(running.plan.service),
    listedUrls: () => running.plan.admin.replay_urls ?? [],
  }
  return {
    id: running.id,
    startedAtMs: Date.now(),
    configuration: () => running.configuration,
    readiness: (exclude) => running.readiness(exclude),
    metrics: (accept) => running.expose(accept),
    activity: () => running.activity(),
    pipelines: () => pipelinesOf(running),
    connections: () => connectionsOf(running.plan),
    openReader,
    openBroker,
    async groups(id) {
      const { kind, values } = running.plan.connections.get(id)!
      return (await kind.listGroups?.(values)) ?? []
    },
    forwards: () => running.forwards.map((it) => it.info()),
    extensions: () => [...running.extensions.values()],
    problemKinds,
    sectionLists,
    sections(plural) {
      const { name } = extensions.find(({ sections }) => sections?.plural === plural)!
      return running.extensions.get(name)?.rows?.() ?? []
    },
    captureMode: () => captureOf(running.plan.admin),
    receiver: running.receiver,
    verifications(id) {
      const pipeline = running.plan.pipelines.find((it) => it.id === id)
      return pipeline === undefined ? [] : verificationsOf(pipeline)
    },
    async explain(id, request, atMs) {
      const pipeline = running.plan.pipelines.find((it) => it.id === id)
      return pipeline === undefined
        ? notJudged(null, "The pipeline is no longer there.")
        : explainRequest(pipeline, request, atMs, { masksSignatures: true })
    },
    replays: new Replays(connections, running.log),
    async reload() {
      if (running.reloadAgain === undefined) throw new HooklineError("closing", "the service is starting")
      const changes = Object.entries(describeChanges(await running.reloadAgain()))
      return changes.map(([what, names]) => `${what}: ${(names as string[]).join(", ")}`)
    },
    logLevel: () => running.log.level as LogLevel,
    async setLogLevel(to) {
      const from = running.log.level
      // by the level that shows it
      const isShown = running.log.isLevelEnabled("info")
      if (isShown && from !== to) running.log.info({ from, to }, "log level changed")
      await running.setLogLevel(to)
      if (!isShown) running.log.info({ from, to }, "log level changed")
    },
  }
}

function pipelinesOf({ plan, listening }: Running): PipelineInfo[] {
  const urls = new Map(listening.map(({ pipeline, url }) => [pipeline, url]))
  const first = plan.connections.keys().next().value ?? ""
  return plan.pipelines.map((pipeline) => {
    const { connection, topic } = pipeline.sink.values as { connection?: string; topic?: string }
    const sender = senderOf(pipeline.processors)
    const url = urls.get(pipeline.id) ?? ""
    const { path, max_body_bytes, content_types, rate_limit } = pipeline.source.values
    return {
      id: pipeline.id,
      provider: sender?.name,
      isVerified: verifiedFrom(pipeline) !== undefined,
      url,
      path,
      // computed only for the one of thousands of pipelines that is asked for
      get signedUrl() {
        const host = url === "" ? "localhost" : new URL(url).host
        return urlAsTakenBy(pipeline, new Headers({ host }), path)
      },
      limits: { max_body_bytes, content_types, rate_limit },
      connection: connection ?? first,
      topic: topic ?? "",
      event: sender?.event ?? {},
      get recordHeaders() {
        return recordHeadersOf(pipeline)
      },
    }
  })
}

/** By extraction, as the sink's options spell it. */
function recordHeadersOf({ sink }: PlannedPipeline): ReadonlyMap<string, string> {
  const { headers = [], cloudevents } = sink.values as { headers?: readonly string[]; cloudevents?: string }
  const configured = headers.map((text): [string, string] => {
    const at = text.indexOf("=")
    return [text.slice(at + 1).trim(), text.slice(0, at).trim()]
  })
  const events: [string, string][] =
    cloudevents === "binary"
      ? [
          ["event:id", "ce_id"],
          ["event:type", "ce_type"],
        ]
      : []
  return new Map([...events, ...configured])
}

const connectionsOf = ({ connections }: Plan): ConnectionInfo[] =>
  [...connections].map(([id, { kind, values }]) => ({
    id,
    kind: kind.name as ConnectionKindName,
    address: kind.describe(values).address,
    folder: kind.files?.(values).map(({ path }) => dirname(path))[0],
  }))
