import { closeSync, openSync } from "node:fs"
import {
  descriptorLimit,
  isExhausted,
  openDescriptors,
  relieve,
  reservedDescriptors,
  SPARE,
} from "../process/descriptors.ts"
import { repeat } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"
import type { RequestLog } from "../telemetry/request-log.ts"
import type { Listener } from "./listener.ts"

/*
 * Out of descriptors, Bun retries accepting in a busy loop that takes a core, and nothing else can be opened, not even
 * a probe's connection. So listeners are closed before that.
 *
 *   accepting   -- limit reached -->         full: listeners closed, idle connections closed
 *   full        -- a tenth below limit -->   accepting
 *
 * Connections are counted ten times a second, as descriptors opened since the start: Bun has no event for a connection.
 * Those accepted between two checks can take all other descriptors; the spare ones, closed when it is full, remain.
 */

const CHECK_MS = 100

/** With fewer, files that are opened later would count as connections that never end. */
const LEAST_CONNECTIONS = 8

/** Keeps the number of open connections below a limit; on Linux only, where descriptors can be counted. */
export class ConnectionLimit {
  readonly #listeners: Pick<Listener, "pause" | "resume">
  readonly #log: RequestLog
  readonly #descriptors = descriptorLimit()
  /** Descriptors open at the start. */
  readonly #before: number = 0
  readonly #endChecks: (() => void) | undefined
  #spare: number[] = []
  #max = Number.POSITIVE_INFINITY
  isFull = false
  #hasFailed = false

  /** Create before anything listens. @throws HooklineError `listen` where too few descriptors are left for connections */
  constructor(listeners: Pick<Listener, "pause" | "resume">, log: RequestLog) {
    this.#listeners = listeners
    this.#log = log
    if (this.#descriptors === undefined) return
    this.#before = openDescriptors()
    const needed = Math.ceil(((this.#before + SPARE + LEAST_CONNECTIONS) * 8) / 7)
    if (this.#descriptors < needed) {
      const text = `this process may open ${this.#descriptors} files (ulimit -n), too few for connections; raise the limit to ${needed} or more`
      throw new HooklineError("listen", text, { names: ["too_few_descriptors"] })
    }
    this.#takeSpare()
    this.#endChecks = repeat(CHECK_MS, () => this.#check())
  }

  /** @param max undefined: as many as descriptors allow, the upper bound in any case */
  setMax(max = Number.POSITIVE_INFINITY): void {
    if (this.#descriptors === undefined) return
    const others = this.#before + reservedDescriptors(this.#descriptors)
    this.#max = Math.max(1, Math.min(max, this.#descriptors - others))
  }

  end(): void {
    this.#endChecks?.()
    this.#releaseSpare()
  }

  #check(): void {
    let connections = this.#connections
    if (connections >= this.#max) {
      relieve()
      connections = this.#connections
    }
    if (connections >= this.#max) this.#pause(connections)
    else if (this.isFull && connections <= this.#max * 0.9) this.#resume(connections)
  }

  get #connections(): number {
    return openDescriptors() - this.#before - this.#spare.length
  }

  #pause(connections: number): void {
    this.#listeners.pause()
    this.#releaseSpare()
    if (this.isFull) return
    this.isFull = true
    this.#write("warn", connections, "connection limit reached; not accepting until some have ended")
  }

  #resume(connections: number): void {
    this.#takeSpare()
    try {
      this.#listeners.resume()
    } catch (err) {
      if (!this.#hasFailed) this.#write("error", connections, "can't listen again; retrying", { err })
      this.#hasFailed = true
      return
    }
    this.isFull = false
    this.#hasFailed = false
    this.#write("info", connections, "accepting connections again")
  }

  /** Opens missing spare descriptors, where possible. */
  #takeSpare(): void {
    try {
      while (this.#spare.length < SPARE) this.#spare.push(openSync("/dev/null", "r"))
    } catch (error) {
      if (!isExhausted(error)) throw error
    }
  }

  #releaseSpare(): void {
    for (const fd of this.#spare.splice(0)) closeSync(fd)
  }

  #write(level: "info" | "warn" | "error", connections: number, message: string, more: object = {}): void {
    const line = { pipeline: undefined, reason: "max_connections", connections, max_connections: this.#max }
    this.#log.write(level, { ...line, ...more }, message)
  }
}
