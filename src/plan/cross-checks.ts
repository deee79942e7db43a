import type { ADMIN } from "../config/admin.ts"
import type { ResolvedConnection } from "../config/connection.ts"
import { enumerate, suggest } from "../config/nearest.ts"
import type { OptionSet } from "../config/option.ts"
import type { Problems } from "../config/problems.ts"
import type { Resolved } from "../config/resolve.ts"
import type { SERVICE } from "../config/service.ts"
import type { ResolvedPipeline } from "./composition.ts"
import { verifiedFrom } from "./verified.ts"

type Connections = ReadonlyMap<string, ResolvedConnection>

const WAYS = "with bootstrap_servers = <host:port> for Kafka, or directory = <folder> for the embedded log"

/**
 * Sees that each sink which publishes to a connection has one.
 *
 * @param mayLack whether a connection may be missing because its section's name is wrong, which was told
 */
export function checkConnections(
  pipelines: readonly ResolvedPipeline[],
  connections: Connections,
  mayLack: boolean,
  problems: Problems,
): void {
  const ids = [...connections.keys()]
  let noneTold = mayLack
  for (const { sink } of pipelines) {
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
export function checkDeadLetters(pipelines: readonly ResolvedPipeline[], problems: Problems): void {
  for (const { source, processors, sink } of pipelines) {
    const letters: unknown = sink?.values.dead_letter_topic
    if (sink === undefined || typeof letters !== "string") continue
    const place = sink.where("dead_letter_topic")
    if (source !== undefined && verifiedFrom({ source, processors }) === undefined) {
      problems.add(
        place,
        "keeps what verified senders sent, and nothing verifies them here; add a Verifier in mode enforce, or tls_client_ca to the source",
      )
    }
    const other = pipelines.find((it) => it.sink !== sink && it.sink?.values.topic === letters)
    if (other?.sink === undefined || other.sink.values.connection !== sink.values.connection) continue
    const where = `pipeline ${JSON.stringify(other.id)} (${problems.locate(other.sink.where("topic"))})`
    problems.add(place, `is the topic of ${where}, where nothing that was refused may be; choose another`)
  }
}

const TLS_KEYS = ["tls_certificate", "tls_key", "tls_client_ca"]

/** Sees that what listens does not get in each other's way, and that what it takes fits into the process. */
export function checkListeners(
  pipelines: readonly ResolvedPipeline[],
  admin: Resolved<(typeof ADMIN)["options"]>,
  service: Resolved<(typeof SERVICE)["options"]>,
  problems: Problems,
): void {
  const sources = pipelines.flatMap(({ id, source }) => (source === undefined ? [] : [{ id, source }]))
  for (const [index, { source }] of sources.entries()) {
    for (const other of sources.slice(0, index)) {
      const conflict = conflictOf(other.source, source)
      if (conflict === undefined) continue
      const { key, text, advice } = conflict
      const where = `pipeline ${JSON.stringify(other.id)} (${problems.locate(other.source.where(key))})`
      problems.add(source.where(key), `${text} ${where}; ${advice}`)
      break
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
export function checkWorkers(
  pipelines: readonly ResolvedPipeline[],
  service: Resolved<(typeof SERVICE)["options"]>,
  problems: Problems,
): void {
  const { workers = 1 } = service.values
  if (workers === 1) return
  const here = `[service] workers = ${workers}`
  for (const { source, processors, sink } of pipelines) {
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

type Source = Resolved<OptionSet>

interface Conflict {
  readonly key: string
  /** Ends before the other pipeline's name. */
  readonly text: string
  readonly advice: string
}

function conflictOf(a: Source, b: Source): Conflict | undefined {
  if (!sharePort(a, b)) return undefined
  if (a.values.path !== undefined && a.values.path === b.values.path) {
    return {
      key: "path",
      text: "port and path are those of",
      advice: "give one of them another path or port",
    }
  }
  if (hostOf(a) !== hostOf(b)) {
    return {
      key: "host",
      text: "overlaps, on the same port, the host of",
      advice: "give both the same host, or another port",
    }
  }
  const key = TLS_KEYS.find((key) => a.values[key] !== b.values[key])
  return key === undefined
    ? undefined
    : {
        key,
        text: "differs from that on the same port of",
        advice: "give both the same TLS settings, or another port",
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

/** Port 0 is a different one each time. */
function sharePort(a: Source, b: Source): boolean {
  const { port } = a.values
  return typeof port === "number" && port !== 0 && port === b.values.port && overlap(hostOf(a), hostOf(b))
}

const hostOf = ({ values }: Source): string => hostKey(String(values.host))

const hostKey = (host: string): string =>
  host.toLowerCase() === "localhost" ? "127.0.0.1" : host.toLowerCase()

const EVERY_HOST = ["0.0.0.0", "::"]

function overlap(a: string, b: string): boolean {
  return a === b || EVERY_HOST.includes(a) || EVERY_HOST.includes(b)
}
