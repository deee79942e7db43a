import { isLoopback, type EndpointOptions } from "./endpoint.ts"

/** The place of a PostgreSQL database, by its URL. */
export interface PostgresUrl extends EndpointOptions {
  readonly user: string | undefined
  readonly password: string | undefined
  readonly database: string | undefined
  /** The encryption of the connection, in libpq's words. */
  readonly sslmode: SslMode
  /** Settings of the session, as in `-c statement_timeout=5s` or a host's `endpoint=ep-1`. */
  readonly options: string | undefined
  /** The URL without credentials, for messages. */
  readonly name: string
}

/** https://www.postgresql.org/docs/current/libpq-ssl.html; those that may end unencrypted without a word are not taken. */
const SSL_MODES = ["disable", "require", "verify-ca", "verify-full"] as const
export type SslMode = (typeof SSL_MODES)[number]

/** The form of a URL, for messages and the reference. */
export const POSTGRES_FORM = "postgres://[user[:password]@]host[:port][/database][?sslmode=…]"

/** Parameters that change nothing here: the client's own timeouts, and SCRAM with channel binding where the server has it. */
const IGNORED = ["application_name", "channel_binding", "connect_timeout", "pgbouncer"]

/** undefined: it is not the URL of a PostgreSQL database, or it has a parameter that Hookline does not know. */
export function parsePostgresUrl(text: string): PostgresUrl | undefined {
  if (!/^postgres(?:ql)?:\/\//i.test(text) || !URL.canParse(text)) return undefined
  const { hostname, port, username, password, pathname, searchParams } = new URL(text)
  const known = [...IGNORED, "sslmode", "options"]
  if (hostname === "" || ![...searchParams.keys()].every((it) => known.includes(it))) return undefined
  const host = hostname.replace(/^\[(.*)\]$/, "$1")
  const given = searchParams.get("sslmode")
  const sslmode = given ?? (isLoopback(host) ? "disable" : "verify-full")
  if (!isSslMode(sslmode)) return undefined
  const endpoint = { host, port: port === "" ? 5432 : Number(port) }
  try {
    const [user, word, database] = [username, password, pathname.slice(1)].map(
      (it) => decodeURIComponent(it) || undefined,
    )
    return {
      ...endpoint,
      user,
      password: word,
      database,
      sslmode,
      options: searchParams.get("options") ?? undefined,
      name: `postgres://${hostname}:${endpoint.port}${pathname === "/" ? "" : pathname}`,
    }
  } catch {
    // a `%` that does not begin an escape
    return undefined
  }
}

export const isPostgresUrl = (text: string): boolean => parsePostgresUrl(text) !== undefined

const isSslMode = (text: string): text is SslMode => (SSL_MODES as readonly string[]).includes(text)
