import { HooklineError } from "../errors.ts"
import { steadyMs } from "../clock.ts"
import type { Logger } from "../telemetry/log.ts"
import type { KeyClaim, KeyStore } from "./key-store.ts"
import { RedisLink, type RedisServer } from "./redis-client.ts"

/*
 * A key in Redis is `hookline:dedupe:<key>`, and its value
 *
 *   <owner>    an event of this key is on its way in the process of this name. It is over a while after the event's
 *              deadline, so that a process that died blocks its keys no longer.
 *   published  such an event was published. It is over after the window.
 *
 * Within a process one event of a key is on its way at a time: one that finds its own process's name there has come upon
 * what is left of an earlier one, whose reply was lost, and takes it over.
 *
 * `published` is written over anything: whoever has the key meanwhile, because this one's lease was over, can only publish
 * a duplicate. A key is given up by its owner alone, which takes a script.
 */

const PREFIX = "hookline:dedupe:"
const PUBLISHED = "published"
/** How long a claim outlives its event's deadline: the key is being kept then. */
const LEASE_MS = 5000
/** How often another process's claim is looked at: seldom enough for a thousand who wait. */
const POLL_FIRST_MS = 10
const POLL_MOST_MS = 250

const RENEW =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
const RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

/** Keeps keys in a Redis or Valkey that several processes share. Does not wait for it to be reachable. */
export class RedisKeys implements KeyStore {
  readonly #owner = crypto.randomUUID()
  readonly #link: RedisLink
  readonly #name: string
  readonly #log: Logger
  readonly #now: () => number
  /** Keys that Redis has not acknowledged, with their times; when it is back it gets them. */
  readonly #unsaved = new Map<string, number>()
  #waiting = 0

  /** @param deps `now` is in milliseconds since 1970 */
  constructor(server: RedisServer, { log, now = Date.now }: { log: Logger; now?: () => number }) {
    this.#name = server.name
    this.#log = log
    this.#now = now
    this.#link = new RedisLink(server, {
      log,
      connected: async (send) => {
        // more may come meanwhile, of events that were on their way
        while (this.#unsaved.size > 0)
          await Promise.all([...this.#unsaved].map(([key, untilMs]) => this.#save(key, untilMs, send)))
      },
    })
  }

  async claim(key: string, deadlineMs: number): Promise<KeyClaim> {
    const unsavedUntilMs = this.#unsaved.get(key)
    if (unsavedUntilMs !== undefined && unsavedUntilMs >= this.#now()) return "duplicate"
    const claim = await this.#before(deadlineMs, this.#tryToClaim(key, deadlineMs))
    if (claim !== undefined) return claim
    this.#waiting++
    try {
      return await this.#claimLater(key, deadlineMs)
    } finally {
      this.#waiting--
    }
  }

  async add(key: string, untilMs: number, deadlineMs: number): Promise<boolean> {
    this.#unsaved.set(key, untilMs)
    const send: RedisLink["send"] = (command, args) => this.#link.send(command, args)
    try {
      await this.#before(deadlineMs, this.#save(key, untilMs, send))
      return true
    } catch {
      // the link tells of its failures, the caller of this event's
      return false
    }
  }

  release(key: string): void {
    this.#link.send("EVAL", [RELEASE, "1", PREFIX + key, this.#owner]).catch(() => {
      // this process may claim it again, another one when the lease is over
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

  /** @returns undefined: another process has an event of the key on its way */
  async #tryToClaim(key: string, deadlineMs: number): Promise<KeyClaim | undefined> {
    const leaseMs = String(Math.ceil(Math.max(deadlineMs - steadyMs(), 0)) + LEASE_MS)
    const name = PREFIX + key
    const set = await this.#link.send("SET", [name, this.#owner, "NX", "PX", leaseMs])
    if (set !== null) return "first"
    const value = await this.#link.send("GET", [name])
    if (value === PUBLISHED) return "duplicate"
    if (value !== this.#owner) return undefined
    const renewed = await this.#link.send("EVAL", [RENEW, "1", name, this.#owner, leaseMs])
    return renewed === 1 ? "first" : undefined
  }

  async #claimLater(key: string, deadlineMs: number): Promise<KeyClaim> {
    for (let pauseMs = POLL_FIRST_MS; ; pauseMs = Math.min(2 * pauseMs, POLL_MOST_MS)) {
      const leftMs = deadlineMs - steadyMs()
      if (leftMs <= 0) return "late"
      await Bun.sleep(Math.min(pauseMs, leftMs))
      const claim = await this.#before(deadlineMs, this.#tryToClaim(key, deadlineMs))
      if (claim !== undefined) return claim
    }
  }

  async #save(key: string, untilMs: number, send: RedisLink["send"]): Promise<void> {
    const leftMs = untilMs - this.#now()
    if (leftMs > 0) await send("SET", [PREFIX + key, PUBLISHED, "PX", String(Math.ceil(leftMs))])
    this.#unsaved.delete(key)
  }

  /** The same, or a rejection when the time has come; the command goes on. */
  async #before<T>(deadlineMs: number, pending: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(
      () => reject(new HooklineError("unavailable", `${this.#name} did not answer in time`)),
      Math.max(deadlineMs - steadyMs(), 0),
    )
    try {
      return await Promise.race([pending, promise])
    } finally {
      clearTimeout(timer)
      // whichever was slower has nobody left to tell
      pending.catch(() => {})
    }
  }
}
