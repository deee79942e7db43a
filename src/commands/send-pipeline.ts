import { clientTls } from "../admin/client-tls.ts"
import { RecordPage } from "../admin/api/shapes.ts"
import { loadForCommand } from "../runtime/load-for-command.ts"
import { formatEndpoint, reachable, type EndpointOptions } from "../addresses/endpoint.ts"
import { HooklineError } from "../errors.ts"
import { urlAsTakenBy, verificationsOf } from "../runtime/explain-request.ts"
import { planPipeline } from "../runtime/plan/plan-part.ts"
import { routeOfSample } from "../runtime/sample-route.ts"
import { nameOf, type VerifierSettings } from "../verify/verification.ts"
import { samplePath } from "../verify/senders.ts"
import { RunningService } from "./running-service.ts"
import { usage, type VerifierFlags } from "./verifier-flags.ts"
import { verificationsWith } from "./verify-pipeline.ts"

/** A pipeline of the configuration file, as `hookline send` posts to it. */
export interface PipelineTarget {
  readonly id: string
  readonly url: URL
  readonly settings: VerifierSettings
  /** What the command's flags say where they are not given. */
  readonly flags: { readonly provider?: string; readonly publicUrl: string }
  readonly tls: BunFetchRequestInitTLS | undefined
  /** Says where events were stored, as far as the running service tells; empty: it does not. */
  readonly stored: (sent: readonly SentEvent[], sinceMs: number) => Promise<StoredEvent[]>
}

/** An event that was posted: its id, and all of its text. */
export interface SentEvent {
  readonly id: string
  readonly text: string
}

export interface StoredEvent {
  readonly connection: string
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly id: string
}

/** @throws HooklineError `usage` for an unknown pipeline, `config`, `no_input` */
export function pipelineTarget(id: string, flags: VerifierFlags & { publicUrl?: string }): PipelineTarget {
  const configuration = loadForCommand(flags.config)
  const pipeline = planPipeline(configuration, id)
  const { values } = pipeline.source
  const {
    host,
    port,
    path,
    tls_certificate: certificate,
  } = values as {
    readonly path: string
    readonly tls_certificate?: string
  } & EndpointOptions
  if (port === 0) throw usage(`pipeline ${id} has port = 0, which the system chooses; name the URL`)
  const address = formatEndpoint(reachable({ host, port }))
  const url = new URL(`${certificate === undefined ? "http" : "https"}://${address}${samplePath(path)}`)
  const isSigned = flags.provider !== undefined || verificationsOf(pipeline).length > 0
  const [verification] = isSigned ? verificationsWith(pipeline, flags) : []
  const topics = routeOfSample(pipeline)?.topics ?? [String(pipeline.sink.values["topic"])]
  const { connection = [...configuration.connections.keys()][0] ?? "" } = pipeline.sink.values as {
    readonly connection?: string
  }
  return {
    id,
    url,
    settings: verification?.settings ?? {},
    flags: {
      ...(verification && { provider: nameOf(verification.provider) }),
      publicUrl: flags.publicUrl ?? urlAsTakenBy(pipeline, new Headers({ Host: url.host }), url.pathname),
    },
    tls: certificate === undefined ? undefined : clientTls(certificate),
    async stored(sent, sinceMs) {
      const found = topics.map(async (topic) => {
        const query = new URLSearchParams({ connection, topic, since: String(sinceMs), limit: "500" })
        const page = await new RunningService(flags.config).get(`/api/records?${query}`, RecordPage)
        return sent.flatMap(({ id, text }) => {
          const record = page?.records.find(({ event_id: of, preview }) =>
            of === null ? preview.includes(id) : of.length >= 8 && text.includes(of),
          )
          if (record === undefined) return []
          const { partition, offset, event_id: of } = record
          return [{ connection, topic, partition, offset, id: of ?? id }]
        })
      })
      return (await Promise.all(found).catch(unanswered)).flat()
    },
  }
}

/** The service that answered the events need not have an admin API, or not for this file's token. */
function unanswered(error: unknown): [] {
  if (error instanceof HooklineError) return []
  throw error
}
