import type { ADMIN } from "../config/admin.ts"
import type { ResolvedConnection } from "../config/connection.ts"
import { enumerate, suggest } from "../config/nearest.ts"
import type { Problems } from "../config/problems.ts"
import type { Resolved } from "../config/resolve.ts"
import type { SERVICE } from "../config/service.ts"
import type { Steps } from "../slices.ts"
import type { ResolvedPipeline } from "./composition.ts"
import { hostKey, hostOf, ListenerConflicts, overlap, type Source } from "./listener-conflicts.ts"
import { verifiedFrom } from "./verified.ts"

type Connections = ReadonlyMap<string, ResolvedConnection>

const WAYS = "with bootstrap_servers = <host:port> for Kafka, or directory = <folder> for the embedded log"

/**
 * Sees that each sink which publishes to a connection has one.
 *
 * @param mayLack whether a connection may be missing because its section's name is wrong, which was told
 */
export function* checkConnections(
  pipelines: readonly ResolvedPipeline[],
  connections: Connections,
  mayLack: boolean,
  problems: Problems,
): Steps<void> {
  const ids = [...connections.keys()]
  let noneTold = mayLack
  for (const { sink } of pipelines) {
    yield
    if (sink === undefined || !("connection" in sink.component.options)) continue
    const id: unknown = sink.values.connection
    const place = sink.where("connection")
    if (typeof id === "string") {
      if (connections.has(id) || (ids.length === 0 && mayLack)) continue
      const none = `there is no connection ${sink.show("connection") ?? "of this id"}`
      const names = suggest(id, ids, (name) => JSON.stringify(name))
      problems.add(place, ids.length === 0 ? `${none}; add [connection:<id>] ${WAYS}` : `${none}${names}`)
    } else if (ids.length > 1 && !sink.isGiven("connection")) {
      problems.add(
        place,
        `is missing and there are several connections; it is one of ${enumerate(ids, "or")}`,
      )
    } else if (ids.length === 0 && !noneTold) {
      noneTold = true
      problems.add(
        { ...place, key: undefined },
        `there is no connection to publish on; add [connection:kafka] ${WAYS}`,
      )
    }
  }
}

/** Sees that no two embedded logs lie in one folder, and no two spools in one file. */
export function checkDirectories(connections: Connections, problems: Problems): void {
  for (const [key, what] of [
    ["directory", "folder"],
    ["spool", "file"],
  ] as const) {
    const firsts = new Map<unknown, ResolvedConnection>()
    for (const connection of connections.values()) {
      const place: unknown = connection.kind === undefined ? undefined : connection.values[key]
      if (place === undefined || place === "off") continue
      const first = firsts.get(place)
      if (first === undefined) firsts.set(place, connection)
      else {
        const where = problems.locate(first.where(key))
        problems.add(
          connection.where(key),
          `is the ${what} of another connection too (${where}); give each its own`,
        )
      }
    }
  }
}

/** Sees that dead letters are of verified senders alone, and lie in no topic of accepted events. */
export function* checkDeadLetters(pipelines: readonly ResolvedPipeline[], problems: Problems): Steps<void> {
  const sinks = sinksByTopic(pipelines)
  for (const { source, processors, sink } of pipelines) {
    yield
    const letters: unknown = sink?.values.dead_letter_topic
    if (sink === undefined || typeof letters !== "string") continue
    const place = sink.where("dead_letter_topic")
    if (source !== undefined && verifiedFrom({ source, processors }) === undefined) {
      problems.add(
        place,
        "keeps what verified senders sent, and nothing verifies them here; add a Verifier in mode enforce, or tls_client_ca to the source",
      )
    }
    const other = sinks
      .get(sink.values.connection)
      ?.get(letters)
      ?.find((it) => it.sink !== sink)
    if (other === undefined) continue
    const where = `pipeline ${JSON.stringify(other.id)} (${problems.locate(other.sink.where("topic"))})`
    problems.add(place, `is the topic of ${where}, where nothing that was refused may be; choose another`)
  }
}

type WithSink = ResolvedPipeline & { readonly sink: NonNullable<ResolvedPipeline["sink"]> }

/** The pipelines that publish to a topic, by what their sinks give as connection and topic. */
function sinksByTopic(pipelines: readonly ResolvedPipeline[]): Map<unknown, Map<unknown, WithSink[]>> {
  const found = new Map<unknown, Map<unknown, WithSink[]>>()
  for (const pipeline of pipelines) {
    if (!hasSink(pipeline)) continue
    const { connection, topic } = pipeline.sink.values as { connection?: unknown; topic?: unknown }
    const topics = found.get(connection) ?? new Map<unknown, WithSink[]>()
    const sharing = topics.get(topic) ?? []
    sharing.push(pipeline)
    found.set(connection, topics.set(topic, sharing))
  }
  return found
}

const hasSink = (pipeline: ResolvedPipeline): pipeline is WithSink => pipeline.sink !== undefined

/** Sees that what listens does not get in each other's way, and that what it takes fits into the process. */
export function* checkListeners(
  pipelines: readonly ResolvedPipeline[],
  admin: Resolved<(typeof ADMIN)["options"]>,
  service: Resolved<(typeof SERVICE)["options"]>,
  problems: Problems,
): Steps<void> {
  const before = new ListenerConflicts()
  for (const { id, source } of pipelines) {
    yield
    if (source === undefined) continue
    const conflict = before.add({ id, source })
    if (conflict !== undefined) {
      const { key, text, advice, other } = conflict
      const where = `pipeline ${JSON.stringify(other.id)} (${problems.locate(other.source.where(key))})`
      problems.add(source.where(key), `${text} ${where}; ${advice}`)
    }
    checkAdminPort(source, admin, problems)
    const { max_body_bytes: body } = source.values
    const { max_in_flight_bytes: budget, workers = 1 } = service.values
    if (typeof body === "number" && budget !== undefined && body > budget / workers) {
      const share = workers === 1 ? "" : `, shared by ${workers} workers`
      problems.add(
        source.where("max_body_bytes"),
        `is more than [service] max_in_flight_bytes${share}, so that the largest bodies would never be taken; lower it, or raise that`,
      )
    }
  }
}

/** Sees that nothing is kept by one process alone where several share the load, and that they share their ports. */
export function* checkWorkers(
  pipelines: readonly ResolvedPipeline[],
  service: Resolved<(typeof SERVICE)["options"]>,
  problems: Problems,
): Steps<void> {
  const { workers = 1 } = service.values
  if (workers === 1) return
  const here = `[service] workers = ${workers}`
  for (const { source, processors, sink } of pipelines) {
    yield
    if (source?.values.port === 0) {
      const text = `0 would be another port in each process, and ${here}; name a port, or set workers = 1`
      problems.add(source.where("port"), text)
    }
    for (const part of [source, ...processors, sink]) {
      if (part === undefined || typeof part === "function") continue
      const alone = part.component.alone?.(part.values)
      if (alone === undefined) continue
      const text = `is kept by one process, and ${here}; ${alone.advice}, or set workers = 1`
      problems.add(part.where(alone.key), text)
    }
  }
}

function checkAdminPort(
  source: Source,
  admin: Resolved<(typeof ADMIN)["options"]>,
  problems: Problems,
): void {
  const { listen } = admin.values
  if (listen === undefined || listen === "off") return
  if (listen.port !== source.values.port || listen.port === 0) return
  if (!overlap(hostKey(listen.host), hostOf(source))) return
  if (admin.isGiven("listen")) {
    const where = problems.locate(source.where("port"))
    problems.add(admin.where("listen"), `is a pipeline's port (${where}); choose another`)
  } else {
    problems.add(
      source.where("port"),
      "is the admin listener's by default; choose another, or set [admin] listen",
    )
  }
}
