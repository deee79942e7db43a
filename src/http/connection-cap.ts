import type { RequestLog } from "../telemetry/request-log.ts"
import { descriptorLimit, openDescriptors, SpareDescriptors } from "./descriptors.ts"

/*
 * Bun accepts connections until there is no descriptor left, and then tries again and again, which takes a whole core;
 * nothing else can be opened any more, no connection of a probe either. So listeners are closed before.
 *
 *   accepting   -- as many connections as may be -->  full: listeners closed, idle connections let go
 *   full        -- a tenth less than that -->         accepting
 *
 * Connections are counted by what descriptors there are more than at the start, ten times a second: Bun tells of requests
 * alone. What comes between two looks takes the rest of the descriptors at most, but for some that are spare: they are set
 * free when it is full.
 */

const CHECK_MS = 100
/** For probes, files of the log, connections to brokers. */
const SPARE = 24

/** What listens. */
export interface Accepting {
  /** Closes the listeners; what is under way goes on. Called again, those that were opened meanwhile. */
  pause(): void
  /** Opens them again. @throws what an address that can't be listened on throws */
  resume(): void
}

/** Holds the number of open connections below a limit. */
export class ConnectionCap {
  readonly #of: Accepting
  readonly #log: RequestLog
  readonly #limit = descriptorLimit()
  readonly #before: number
  readonly #spare = new SpareDescriptors(SPARE)
  readonly #timer: Timer | undefined
  #most = Number.POSITIVE_INFINITY
  #isFull = false
  #hasFailed = false

  /** To be made before anything listens. */
  constructor(of: Accepting, log: RequestLog) {
    this.#of = of
    this.#log = log
    if (this.#limit === undefined) {
      this.#before = 0
      return
    }
    this.#before = openDescriptors()
    this.#spare.take()
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref()
  }

  /** Whether no connection is accepted. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** @param wanted undefined: as many as there are descriptors for; more than those there are not */
  setMost(wanted: number | undefined): void {
    if (this.#limit === undefined) return
    const others = this.#before + SPARE + Math.min(512, Math.ceil(this.#limit / 8))
    this.#most = Math.max(1, Math.min(wanted ?? Number.POSITIVE_INFINITY, this.#limit - others))
  }

  end(): void {
    clearInterval(this.#timer)
    this.#spare.release()
  }

  #check(): void {
    const connections = openDescriptors() - this.#before - this.#spare.held
    if (connections >= this.#most) this.#close(connections)
    else if (this.#isFull && connections <= this.#most * 0.9) this.#open(connections)
  }

  #close(connections: number): void {
    this.#of.pause()
    if (this.#isFull) return
    this.#isFull = true
    this.#spare.release()
    this.#tell("warn", connections, "connection limit reached; not accepting until some have ended")
  }

  #open(connections: number): void {
    this.#spare.take()
    try {
      this.#of.resume()
    } catch (err) {
      if (!this.#hasFailed) this.#tell("error", connections, "can't listen again; retrying", err)
      this.#hasFailed = true
      return
    }
    this.#isFull = false
    this.#hasFailed = false
    this.#tell("info", connections, "accepting connections again")
  }

  #tell(level: "info" | "warn" | "error", connections: number, message: string, err?: unknown): void {
    const line = { pipeline: undefined, reason: "max_connections", connections, max_connections: this.#most }
    this.#log.write(level, err === undefined ? line : { ...line, err }, message)
  }
}
