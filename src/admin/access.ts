import { isIP } from "node:net"
import { steadyMs } from "../clock/clock.ts"
import { rarely } from "../clock/lasting.ts"
import { Guesses } from "../addresses/guesses.ts"
import type { Logger } from "../telemetry/log.ts"
import { headerText } from "../headers.ts"
import { secretTest } from "../verify/verification.ts"

export interface Access {
  /** The bearer token that callers must present; undefined: none. */
  readonly token?: string | undefined
  /** A second token, which is read-only; undefined: none. It requires `token`. */
  readonly readToken?: string | undefined
  /** What other replicas present; undefined: there are none. */
  readonly replicasToken?: string | undefined
  /** Accepted values of Host, in addition to `localhost`, IP addresses and the host that it listens on. */
  readonly hosts?: readonly string[] | undefined
}

/** The token that a caller has, by its key in `[admin]`; `none`: none is configured, and every caller may act. */
export type TokenName = "token" | "read_token" | "replicas_token" | "none"

/** Who is admitted. */
export interface AdminAccess {
  /** Which token a text is; undefined: none of them. If none is configured, every text is `none`. */
  tokenIn(text: string): TokenName | undefined
  /** Which token a request presents, as `Authorization: Bearer`. */
  tokenOf(request: Request): TokenName | undefined
  isOwnHost(request: Request): boolean
}

/** @param host that it listens on */
export function admissionBy(
  { token, readToken, replicasToken, hosts = [] }: Access,
  host: string,
): AdminAccess {
  const nothing = (): boolean => false
  const mayAct = token === undefined ? nothing : secretTest(token)
  const isReplicas = replicasToken === undefined ? nothing : secretTest(replicasToken)
  const mayLook = readToken === undefined ? nothing : secretTest(readToken)
  const tokenIn = (text: string): TokenName | undefined => {
    // all are compared, whichever it is
    const [acts, looks, isReplica] = [mayAct(text), mayLook(text), isReplicas(text)]
    if (isReplica) return "replicas_token"
    if (token === undefined) return "none"
    if (acts) return "token"
    return looks ? "read_token" : undefined
  }
  return {
    tokenIn,
    tokenOf({ headers }) {
      const header = headerText(headers.get("authorization") ?? "")
      return tokenIn(header.startsWith("Bearer ") ? header.slice("Bearer ".length) : "")
    },
    isOwnHost: hostTest([host, ...hosts]),
  }
}

/**
 * Whether a request's Host is one that this listener answers to: protection against DNS rebinding, where a web page's own
 * name resolves to a loopback address, and its requests carry that name. IP addresses and `localhost` can't be rebound,
 * and browsers always send a Host.
 *
 * @param names further ones, without ports
 */
export function hostTest(names: readonly string[]): (request: Request) => boolean {
  const own = new Set(names.map((name) => name.toLowerCase()))
  return ({ headers }) => {
    const host = headers.get("host")
    if (host === null) return true
    const [, v6, name, port] = /^(?:\[([^\]]*)\]|([\w.-]*))(?::(\d*))?$/.exec(host) ?? []
    if (Number(port ?? 0) > 65_535) return false
    if (v6 !== undefined) return isIP(v6) === 6
    // a fully qualified name may end in a dot
    const bare = (name ?? "").toLowerCase().replace(/\.$/, "")
    return isIP(bare) === 4 || bare === "localhost" || bare.endsWith(".localhost") || own.has(bare)
  }
}

/** How long a session lasts after its last request. */
const IDLE_MS = 12 * 3_600_000
/** The oldest ends when there are more. */
const MAX_SESSIONS = 100

export const COOKIE = "hookline-session"

/** Sessions of the page, in memory. A session's id is random, and says nothing of the token. */
export class Sessions {
  /** By their ids; the session that was used last comes last. */
  readonly #open = new Map<string, { readonly token: TokenName; readonly untilMs: number }>()

  /** @param token that it was begun with @returns the id of a new session */
  begin(token: TokenName): string {
    const id = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")
    this.#open.set(id, { token, untilMs: steadyMs() + IDLE_MS })
    const [oldest] = this.#open.keys()
    if (this.#open.size > MAX_SESSIONS) this.#open.delete(oldest!)
    return id
  }

  /** The token of the session whose cookie a request has; undefined: it has none. */
  tokenOf(request: Request): TokenName | undefined {
    const id = idOf(request) ?? ""
    const session = this.#open.get(id)
    if (session === undefined) return undefined
    this.#open.delete(id)
    const { token, untilMs } = session
    if (steadyMs() >= untilMs) return undefined
    this.#open.set(id, { token, untilMs: steadyMs() + IDLE_MS })
    return token
  }

  end(request: Request): void {
    this.#open.delete(idOf(request) ?? "")
  }

  /** Ends all. */
  clear(): void {
    this.#open.clear()
  }
}

const idOf = ({ headers }: Request): string | undefined =>
  headers
    .get("cookie")
    ?.split(";")
    .map((pair) => pair.trim().split("="))
    .find(([name]) => name === COOKIE)?.[1]

/** The header that sets a session's cookie, or ends it. */
export function cookieOf(request: Request, id: string | undefined): string {
  const isTls = request.url.startsWith("https:") || request.headers.get("x-forwarded-proto") === "https"
  const rest = `Path=/; HttpOnly; SameSite=Strict${isTls ? "; Secure" : ""}`
  return id === undefined ? `${COOKIE}=; Max-Age=0; ${rest}` : `${COOKIE}=${id}; ${rest}`
}

export type WrongTokens = ReturnType<typeof wrongTokenCounter>

/** Logs wrong admin tokens, and slows down who guesses them. A right token is not slowed down. */
export function wrongTokenCounter(log: Pick<Logger, "warn">) {
  const guesses = new Guesses()
  let newest = ""
  const report = rarely(60_000, (count) =>
    log.warn(
      { remote_address: newest, wrong_tokens: count },
      "wrong token for the admin listener; further ones are counted, and logged once a minute",
    ),
  )
  return {
    /** Counts a wrong token. @returns 0: refuse it; else the seconds to wait before the next, after a delay */
    async count(address: string): Promise<number> {
      newest = address
      report()
      const waitS = guesses.count(address)
      if (waitS > 0) await guesses.delay()
      return waitS
    },
    close: () => guesses.close(),
  }
}
