import type { EndpointOptions } from "./endpoint.ts"

/** Where a Redis is, by its URL: one server, the master that Sentinels name, or a Cluster. */
export interface RedisUrl {
  readonly kind: "server" | "sentinel" | "cluster"
  readonly isTls: boolean
  /** Of the server, of the Sentinels, or of some nodes of the Cluster. */
  readonly addresses: readonly EndpointOptions[]
  readonly user: string | undefined
  readonly password: string | undefined
  /** As the Sentinels know it; "" for the other kinds. */
  readonly master: string
  readonly database: number
  /** Of the Sentinels themselves. */
  readonly sentinelPassword: string | undefined
  /** The URL without credentials, for messages. */
  readonly name: string
}

/** For messages and the reference. */
export const REDIS_FORM =
  "redis://[user:password@]host[:port][/database], redis+sentinel://[user:password@]host[:port],…/master[/database] or redis+cluster://[user:password@]host[:port],… (rediss for TLS)"

const URL_PARTS =
  /^redis(s?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/]*)@)?([^@/?#]+)(\/[^?#]*)?(?:\?sentinel_password=([^&#]+))?$/i
/** What may follow the addresses. */
const PATHS = { server: /^()(\d*)$/, sentinel: /^([^/]+)(?:\/(\d+))?$/, cluster: /^()()$/ }

/** undefined: it is not the URL of a Redis. */
export function parseRedisUrl(text: string): RedisUrl | undefined {
  const parts = URL_PARTS.exec(text)
  if (parts === null) return undefined
  const [, tls = "", form, credentials = "", hosts = "", path = "", sentinelPassword] = parts
  const kind = (form?.toLowerCase() ?? "server") as RedisUrl["kind"]
  const port = kind === "sentinel" ? 26_379 : 6379
  const addresses = hosts.split(",").map((it) => addressOf(it, port))
  const [, master, database] = PATHS[kind].exec(path.slice(1)) ?? []
  if (master === undefined || !addresses.every((it) => it !== undefined)) return undefined
  if (kind === "server" && addresses.length > 1) return undefined
  if (sentinelPassword !== undefined && kind !== "sentinel") return undefined
  try {
    const [user, password] = credentials.split(/:(.*)/s, 2).map((it) => decodeURIComponent(it) || undefined)
    return {
      kind,
      isTls: tls !== "",
      addresses,
      user,
      password,
      master: decodeURIComponent(master),
      database: Number(database ?? 0),
      sentinelPassword: sentinelPassword && decodeURIComponent(sentinelPassword),
      name: `${text.slice(0, text.indexOf("://")).toLowerCase()}://${hosts}${path === "/" ? "" : path}`,
    }
  } catch {
    // a `%` that does not begin an escape
    return undefined
  }
}

/** Whether a text is the URL of a Redis, which processes share. */
export const isRedisUrl = (text: string): boolean => parseRedisUrl(text) !== undefined

export const isTls = (text: string): boolean => parseRedisUrl(text)?.isTls === true

function addressOf(text: string, port: number): EndpointOptions | undefined {
  if (!URL.canParse(`http://${text}`)) return undefined
  // URL drops the default port of http, and this scheme has none
  const { hostname, port: given } = new URL(`redis://${text}`)
  if (hostname === "") return undefined
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: given === "" ? port : Number(given) }
}
