import { Backoff } from "../clock/backoff.ts"
import { within } from "../clock/clock.ts"
import type { Logger } from "../telemetry/log.ts"
import { connectFailure } from "./connect-failure.ts"
import { readDurability } from "./durability.ts"
import { PostgresLink } from "./link.ts"
import type { PostgresServer } from "./server.ts"

/** Pauses between attempts to connect. */
const RETRY_MS = { first: 100, longest: 5000 }
/** The pause between two questions what a commit is worth: settings change, and a failover may be behind the same address. */
const CHECK_MS = 3000
/** A server that does not answer that is not used. */
const SILENT_MS = 5000

export interface KeptLinkOptions {
  /** The connection's name in pg_stat_activity. */
  readonly name: string
  readonly log: Pick<Logger, "info" | "warn" | "error">
  /** Called when a connection is open, before it is used. */
  readonly opened?: (link: PostgresLink) => Promise<void>
}

/**
 * A connection that is opened again whenever it ends, and that is usable while the server's commits are durable:
 *
 *   connecting  --  open, durable  -->  usable  --  ended, or not durable  -->  waiting  --  pause over  -->  connecting
 *
 * A second connection beside it asks the server, so that it has an answer while the first one waits for a statement.
 */
export class KeptLink {
  readonly #server: PostgresServer
  readonly #options: KeptLinkOptions
  readonly #backoff = new Backoff(RETRY_MS)
  #link: PostgresLink | undefined
  #state: PostgresLink | undefined
  #problem: string | undefined
  #logged: string | undefined
  #durability: string | undefined
  #usable = Promise.withResolvers<void>()
  #timer: Timer | undefined
  #isClosed = false

  constructor(server: PostgresServer, options: KeptLinkOptions) {
    this.#server = server
    this.#options = options
    this.#problem = `PostgreSQL at ${server.name} is not connected yet`
    void this.#connect()
  }

  /** The reason that it can't be used now; undefined: it can. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** undefined: it can't be used now. */
  get link(): PostgresLink | undefined {
    return this.#problem === undefined ? this.#link : undefined
  }

  /** The connection beside it; undefined: it can't be used now. */
  get state(): PostgresLink | undefined {
    return this.#problem === undefined ? this.#state : undefined
  }

  /** Resolves when it can be used, or is closed. */
  whenUsable(): Promise<void> {
    return this.#isClosed || this.#problem === undefined ? Promise.resolve() : this.#usable.promise
  }

  /**
   * Whether the server still works on what the connection was asked, and what that waits for: `SyncRep` is a synchronous standby
   * (https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-TABLE). undefined: it does not, or a pooler
   * stands between, so that nobody knows.
   */
  async waitOf(link: PostgresLink): Promise<{ readonly event: string | null } | undefined> {
    const state = this.#state
    if (state === undefined) return undefined
    try {
      const { rows } = await within(
        SILENT_MS,
        state.run<{ event: string | null }>(
          "SELECT wait_event AS event FROM pg_stat_activity WHERE pid = $1 AND state = 'active'",
          [link.processId],
        ),
        silent,
      )
      return rows[0]
    } catch {
      // it is the other connection's check that says why
      return undefined
    }
  }

  /** Ends a connection that can't be trusted, and opens another. A statement of it may still be committed. */
  fail(link: PostgresLink, cause: unknown): void {
    if (this.#link === link) this.#ended([link, this.#state!], cause)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#problem = `the connection to PostgreSQL at ${this.#server.name} is closed`
    clearTimeout(this.#timer)
    this.#usable.resolve()
    this.#state?.drop()
    const link = this.#link
    // a server that does not answer keeps nobody
    if (link !== undefined) await within(SILENT_MS, link.close(), () => link.drop())
  }

  async #connect(): Promise<void> {
    const links: PostgresLink[] = []
    const ended = (cause: unknown): void => this.#ended(links, cause)
    try {
      for (const name of [this.#options.name, `${this.#options.name}: state`])
        links.push(await PostgresLink.open(this.#server, name, ended))
      const [link, state] = links
      if (this.#isClosed) return drop(links)
      this.#link = link
      this.#state = state
      await this.#check(state!)
    } catch (error) {
      ended(error)
    }
  }

  /** Asks what a commit is worth, and again after a while. @throws what `PostgresLink.run` throws */
  async #check(state: PostgresLink): Promise<void> {
    const { problem, words } = await within(SILENT_MS, readDurability(state, this.#server.schema), silent)
    if (this.#state !== state || this.#isClosed) return
    if (problem !== undefined) this.#setProblem(`PostgreSQL at ${this.#server.name} ${problem}`)
    else {
      if (this.#problem !== undefined) await this.#options.opened?.(this.#link!)
      this.#use(words)
    }
    this.#timer = setTimeout(() => {
      this.#check(state).catch((error: unknown) => {
        if (this.#state === state) this.fail(this.#link!, error)
      })
    }, CHECK_MS)
  }

  #use(words: string): void {
    const { log } = this.#options
    if (this.#problem !== undefined) {
      this.#problem = undefined
      this.#backoff.reset()
      this.#usable.resolve()
      this.#usable = Promise.withResolvers()
      if (this.#logged !== undefined) log.info("PostgreSQL can be used again")
      this.#logged = undefined
    }
    if (this.#durability === words) return
    this.#durability = words
    log.info(words)
  }

  /** @param links those of the connection that has ended */
  #ended(links: readonly PostgresLink[], cause: unknown): void {
    drop(links)
    if (this.#isClosed || (this.#link !== undefined && !links.includes(this.#link))) return
    this.#link = undefined
    this.#state = undefined
    this.#setProblem(connectFailure(this.#server, cause).message)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#connect(), this.#backoff.failed())
  }

  #setProblem(problem: string): void {
    this.#problem = problem
    if (this.#logged === problem) return
    this.#logged = problem
    this.#options.log.error({ problem }, "PostgreSQL can't be used")
  }
}

function drop(links: readonly PostgresLink[]): void {
  for (const link of links) link.drop()
}

function silent(): never {
  throw new Error("does not answer")
}
