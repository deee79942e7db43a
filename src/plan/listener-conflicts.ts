import type { OptionSet } from "../config/option.ts"
import type { Resolved } from "../config/resolve.ts"

export type Source = Resolved<OptionSet>

/** A pipeline that listens. */
export interface ListeningPipeline {
  readonly id: string
  readonly source: Source
}

/** What keeps two pipelines from listening both. */
export interface Conflict {
  readonly other: ListeningPipeline
  readonly key: string
  /** Ends before the other pipeline's name. */
  readonly text: string
  readonly advice: string
}

interface Numbered extends ListeningPipeline {
  /** Its place in their order. */
  readonly at: number
}

/** What listens on one port. */
interface PortSources {
  /** By host. */
  readonly hosts: Firsts
  readonly byHost: Map<string, HostSources>
}

interface HostSources {
  /** By TLS settings. */
  readonly settings: Firsts
  readonly paths: Map<unknown, Numbered>
}

const TLS_KEYS = ["tls_certificate", "tls_key", "tls_client_ca"]

const EVERY_HOST = ["0.0.0.0", "::"]

/** Finds, for one source after the other, the first of those before that it can't listen beside, without looking at each. */
export class ListenerConflicts {
  readonly #ports = new Map<number, PortSources>()
  #count = 0

  /** Adds a source. @returns undefined: it can listen beside all that were added before */
  add(listening: ListeningPipeline): Conflict | undefined {
    const { values } = listening.source
    // port 0 is a different one each time
    if (typeof values.port !== "number" || values.port === 0) return undefined
    const port = this.#ports.get(values.port) ?? {
      hosts: new Firsts(),
      byHost: new Map<string, HostSources>(),
    }
    this.#ports.set(values.port, port)
    const one = { ...listening, at: this.#count++ }
    const other = firstBefore(one, port)
    addTo(port, one)
    return other && conflictOf(other, listening)
  }
}

/** The first of some sources, and the first that differs from it in one respect. */
class Firsts {
  #first: readonly [one: Numbered, respect: string] | undefined
  #other: Numbered | undefined

  add(one: Numbered, respect: string): void {
    if (this.#first === undefined) this.#first = [one, respect]
    else if (respect !== this.#first[1]) this.#other ??= one
  }

  get first(): Numbered | undefined {
    return this.#first?.[0]
  }

  /** The first that is not so. */
  otherThan(respect: string): Numbered | undefined {
    return this.#first?.[1] === respect ? this.#other : this.#first?.[0]
  }
}

function firstBefore({ source }: Numbered, { hosts, byHost }: PortSources): Numbered | undefined {
  const host = hostOf(source)
  const same = byHost.get(host)
  const elsewhere = EVERY_HOST.includes(host)
    ? [hosts.otherThan(host)]
    : EVERY_HOST.map((every) => byHost.get(every)?.settings.first)
  const { path } = source.values
  const found = [
    path === undefined ? undefined : same?.paths.get(path),
    same?.settings.otherThan(settingsOf(source)),
    ...elsewhere,
  ]
  return found.filter((it) => it !== undefined).toSorted((a, b) => a.at - b.at)[0]
}

function addTo({ hosts, byHost }: PortSources, one: Numbered): void {
  const { source } = one
  const host = hostOf(source)
  const same = byHost.get(host) ?? { settings: new Firsts(), paths: new Map<unknown, Numbered>() }
  byHost.set(host, same)
  hosts.add(one, host)
  same.settings.add(one, settingsOf(source))
  if (!same.paths.has(source.values.path)) same.paths.set(source.values.path, one)
}

/** Says why two sources that share a port can't both listen. */
function conflictOf(other: ListeningPipeline, { source }: ListeningPipeline): Conflict {
  const { values } = other.source
  if (values.path !== undefined && values.path === source.values.path) {
    return {
      other,
      key: "path",
      text: "port and path are those of",
      advice: "give one of them another path or port",
    }
  }
  if (hostOf(other.source) !== hostOf(source)) {
    return {
      other,
      key: "host",
      text: "overlaps, on the same port, the host of",
      advice: "give both the same host, or another port",
    }
  }
  return {
    other,
    key: TLS_KEYS.find((key) => values[key] !== source.values[key])!,
    text: "differs from that on the same port of",
    advice: "give both the same TLS settings, or another port",
  }
}

const settingsOf = ({ values }: Source): string => JSON.stringify(TLS_KEYS.map((key) => values[key] ?? null))

export const hostOf = ({ values }: Source): string => hostKey(String(values.host))

export const hostKey = (host: string): string =>
  host.toLowerCase() === "localhost" ? "127.0.0.1" : host.toLowerCase()

export function overlap(a: string, b: string): boolean {
  return a === b || EVERY_HOST.includes(a) || EVERY_HOST.includes(b)
}
