import { steadyMs } from "../clock/clock.ts"

/** How long a session lasts after its last request. */
const IDLE_MS = 12 * 3_600_000
/** The oldest ends when there are more. */
const MAX_SESSIONS = 100

export const COOKIE = "hookline-session"

/** Sessions of the page, in memory. A session's id is random, and says nothing of the token. */
export class Sessions {
  /** Ends of the sessions by their ids; the session that was used last comes last. */
  readonly #until = new Map<string, number>()

  /** @returns the id of a new session */
  begin(): string {
    const id = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")
    this.#until.set(id, steadyMs() + IDLE_MS)
    const [oldest] = this.#until.keys()
    if (this.#until.size > MAX_SESSIONS) this.#until.delete(oldest!)
    return id
  }

  /** Whether a request has the cookie of a session. */
  has(request: Request): boolean {
    const id = idOf(request)
    const until = id === undefined ? undefined : this.#until.get(id)
    if (id === undefined || until === undefined) return false
    this.#until.delete(id)
    if (steadyMs() >= until) return false
    this.#until.set(id, steadyMs() + IDLE_MS)
    return true
  }

  end(request: Request): void {
    this.#until.delete(idOf(request) ?? "")
  }

  /** Ends all. */
  clear(): void {
    this.#until.clear()
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
