import { HooklineError } from "../errors.ts"
import { Backoff } from "../clock/backoff.ts"
import { steadyMs, within } from "../clock/clock.ts"
import type { Logger } from "../telemetry/log.ts"
import type { KeyClaim, KeyStore } from "./key-store.ts"
import { RedisLink, releaseKey, renewKey, type RedisServer } from "./redis-client.ts"

/*
 * A key in Redis is `hookline:dedupe:<key>`, and its value
 *
 *   <owner>    an event of the key is pending in this process. The claim expires some time after the event's deadline, so that
 *              a crashed process does not block its keys for longer.
 *   published  an event of the key was published. It expires after the window.
 *
 * A process has one pending event of a key at a time: if the owner is the process itself, the reply to an earlier claim was
 * lost, and the claim is renewed.
 *
 * `published` overwrites anything: a process that claimed the key after the lease expired can only publish a duplicate. Only
 * the owner releases a key, by a script.
 */

const PREFIX = "hookline:dedupe:"
const PUBLISHED = "published"
/** How long a claim outlives its event's deadline, while the key is stored. */
const LEASE_MS = 5000
const SAVE_EVERY_MS = 500
/** Pause between two polls of another process's claim: slow enough for a thousand waiting events. */
const POLL_MS = { first: 10, longest: 250 }

/** Keeps keys in a Redis or Valkey, shared by processes. Does not wait for a connection. */
export class RedisKeys implements KeyStore {
  readonly #owner = crypto.randomUUID()
  readonly #link: RedisLink
  readonly #name: string
  readonly #log: Logger
  /** Keys that Redis has not acknowledged, with their expiry by the steady clock; sent again after a reconnection. */
  readonly #unsaved = new Map<string, number>()
  readonly #send: RedisLink["send"] = (command, args) => this.#link.send(command, args)
  #waiting = 0

  constructor(server: RedisServer, { log }: { log: Logger }) {
    this.#name = server.name
    this.#log = log
    this.#link = new RedisLink(server, {
      log,
      connected: async (send) => {
        // pending events may add more meanwhile
        while (this.#unsaved.size > 0)
          await Promise.all([...this.#unsaved].map(([key, untilMs]) => this.#save(key, untilMs, send)))
      },
    })
  }

  async claim(key: string, deadlineMs: number): Promise<KeyClaim> {
    const unsavedUntilMs = this.#unsaved.get(key)
    if (unsavedUntilMs !== undefined && unsavedUntilMs >= steadyMs()) return "duplicate"
    const claim = await this.#before(deadlineMs, this.#tryToClaim(key, deadlineMs))
    if (claim !== undefined) return claim
    this.#waiting++
    try {
      return await this.#claimLater(key, deadlineMs)
    } finally {
      this.#waiting--
    }
  }

  async add(key: string, windowMs: number, deadlineMs: number): Promise<boolean> {
    const untilMs = steadyMs() + windowMs
    this.#unsaved.set(key, untilMs)
    try {
      await this.#before(deadlineMs, this.#save(key, untilMs, this.#send))
      return true
    } catch {
      // the link logs its failures, and the caller this event's
      void this.#saveLater(key, untilMs)
      return false
    }
  }

  release(key: string): void {
    releaseKey(this.#link, PREFIX + key, this.#owner).catch(() => {
      // this process may claim it again, others after the lease
    })
  }

  waiting(): number {
    return this.#waiting
  }

  ready(): true | string {
    return this.#link.ready()
  }

  close(): Promise<void> {
    this.#link.close()
    if (this.#unsaved.size > 0)
      this.#log.error({ keys: this.#unsaved.size }, `${this.#name} lacks keys of published events`)
    return Promise.resolve()
  }

  /** Retries while the link stays up, as where one node of a Cluster fails; a reconnection saves all unsaved keys. */
  async #saveLater(key: string, untilMs: number): Promise<void> {
    while (this.#link.ready() === true && this.#unsaved.has(key)) {
      await Bun.sleep(SAVE_EVERY_MS)
      await this.#save(key, untilMs, this.#send).catch(() => {})
    }
  }

  /** @returns undefined: another process has a pending event of the key */
  async #tryToClaim(key: string, deadlineMs: number): Promise<KeyClaim | undefined> {
    const leaseMs = Math.ceil(Math.max(deadlineMs - steadyMs(), 0)) + LEASE_MS
    const name = PREFIX + key
    const set = await this.#link.send("SET", [name, this.#owner, "NX", "PX", `${leaseMs}`])
    if (set !== null) return "first"
    const value = await this.#link.send("GET", [name])
    if (value === PUBLISHED) return "duplicate"
    if (value !== this.#owner) return undefined
    return (await renewKey(this.#link, name, this.#owner, leaseMs)) ? "first" : undefined
  }

  async #claimLater(key: string, deadlineMs: number): Promise<KeyClaim> {
    const pauses = new Backoff(POLL_MS)
    for (;;) {
      const leftMs = deadlineMs - steadyMs()
      if (leftMs <= 0) return "late"
      await Bun.sleep(Math.min(pauses.failed(), leftMs))
      const claim = await this.#before(deadlineMs, this.#tryToClaim(key, deadlineMs))
      if (claim !== undefined) return claim
    }
  }

  async #save(key: string, untilMs: number, send: RedisLink["send"]): Promise<void> {
    const leftMs = untilMs - steadyMs()
    if (leftMs > 0) await send("SET", [PREFIX + key, PUBLISHED, "PX", String(Math.ceil(leftMs))])
    this.#unsaved.delete(key)
  }

  /** The same, or a rejection at the deadline; the command continues. */
  #before<T>(deadlineMs: number, pending: Promise<T>): Promise<T> {
    return within(deadlineMs - steadyMs(), pending, () => {
      throw new HooklineError("unavailable", `${this.#name} did not answer in time`)
    })
  }
}
