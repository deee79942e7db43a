import type { OptionSet } from "../../config/options/option.ts"
import type { Resolved } from "../../config/options/resolve.ts"
import type { Steps } from "../../clock/slices.ts"
import type { Place, Problems } from "../../config/file/problems.ts"
import type { ADMIN } from "../../config/sections/admin.ts"
import { hostKey, pathKey, type EndpointOptions } from "../../config/sections/endpoint.ts"
import type { Connections } from "./connection-of.ts"
import type { ResolvedPipeline } from "./resolve-pipelines.ts"

type Source = Resolved<OptionSet>

export interface ListeningPipeline {
  readonly id: string
  readonly source: Source
}

/** Why two pipelines can't both listen. */
export interface Conflict {
  readonly other: ListeningPipeline
  readonly key: string
  /** Continued by the other pipeline's name. */
  readonly text: string
  readonly advice: string
}

const TLS_KEYS = ["tls_certificate", "tls_key", "tls_client_ca"]

const EVERY_HOST = ["0.0.0.0", "::"]

interface Listener extends ListeningPipeline {
  readonly host: string
  readonly path: string | undefined
  /** Its TLS settings, serialised. */
  readonly tls: string
}

/** Finds, for each source, the first earlier one that it conflicts with. */
export class ListenerConflicts {
  readonly #byPort = new Map<number, Listener[]>()

  /** @returns undefined when it conflicts with no earlier source */
  add(listening: ListeningPipeline): Conflict | undefined {
    const { port, path: given, ...values } = listening.source.values
    // port 0 is a different one for each
    if (typeof port !== "number" || port === 0) return undefined
    const path = typeof given === "string" ? pathKey(given) : undefined
    const tls = JSON.stringify(TLS_KEYS.map((key) => values[key]))
    const one: Listener = { ...listening, host: hostOf(listening.source), path, tls }
    const before = this.#byPort.get(port) ?? []
    this.#byPort.set(port, before)
    const other = before.find((it) => !fits(it, one))
    before.push(one)
    return other && { other, ...reasonOf(other, one) }
  }
}

const fits = (a: Listener, b: Listener): boolean =>
  a.host === b.host
    ? a.tls === b.tls && (a.path === undefined || a.path !== b.path)
    : !overlap(a.host, b.host)

/** Why two sources on one port can't both listen. */
function reasonOf(other: Listener, one: Listener): Omit<Conflict, "other"> {
  if (other.path !== undefined && other.path === one.path) {
    const advice = "give one of them another path or port"
    return { key: "path", text: "port and path are those of", advice }
  }
  if (other.host !== one.host) {
    const advice = "give both the same host, or another port"
    return { key: "host", text: "overlaps, on the same port, the host of", advice }
  }
  const key = TLS_KEYS.find((key) => other.source.values[key] !== one.source.values[key])!
  const advice = "give both the same TLS settings, or another port"
  return { key, text: "differs from that on the same port of", advice }
}

export const hostOf = ({ values }: Source): string => hostKey(String(values.host))

export const overlap = (a: string, b: string): boolean =>
  a === b || EVERY_HOST.includes(a) || EVERY_HOST.includes(b)

interface Listening extends EndpointOptions {
  readonly title: string
  readonly place: Place
}

/** Checks that the admin listener, and those of connections, have their addresses to themselves. */
export function* checkOwnAddresses(
  pipelines: readonly ResolvedPipeline[],
  connections: Connections,
  admin: Resolved<(typeof ADMIN)["options"]>,
  problems: Problems,
): Steps<void> {
  const earlier = pipelines.flatMap(({ id, source }): Listening[] => {
    if (source === undefined) return []
    const { host, port } = source.values as unknown as EndpointOptions
    return [{ host, port, title: `pipeline ${JSON.stringify(id)}`, place: source.where("port") }]
  })
  const { listen = "off" } = admin.values
  const adminPlace = admin.where("listen")
  const own: Listening[] =
    listen === "off" ? [] : [{ ...listen, title: "the admin listener", place: adminPlace }]
  for (const [id, { kind, values, where }] of connections)
    for (const { key, listen } of kind?.addresses?.(values) ?? [])
      own.push({ ...listen, title: `connection ${id}`, place: where(key) })
  for (const one of own) {
    yield
    const overlaps = ({ host, port }: Listening): boolean =>
      port === one.port && port !== 0 && overlap(hostKey(String(host)), hostKey(one.host))
    const other = earlier.find(overlaps)
    earlier.push(one)
    if (other === undefined) continue
    if (one.place === adminPlace && !admin.isGiven("listen"))
      problems.add(other.place, "is the admin listener's by default; choose another, or set [admin] listen")
    else
      problems.add(
        one.place,
        `is the port of ${other.title} (${problems.locate(other.place)}); choose another`,
      )
  }
}
