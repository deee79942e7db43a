import type { OptionSet } from "../../config/options/option.ts"
import type { Resolved } from "../../config/options/resolve.ts"
import { hostKey, pathKey } from "../../config/sections/endpoint.ts"

export type Source = Resolved<OptionSet>

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

export function overlap(a: string, b: string): boolean {
  return a === b || EVERY_HOST.includes(a) || EVERY_HOST.includes(b)
}
