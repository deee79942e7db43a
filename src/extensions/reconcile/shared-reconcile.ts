import { RedisLink, type RedisServer } from "../../dedupe/redis-client.ts"
import { RedisLease } from "../../dedupe/redis-lease.ts"
import { HooklineError } from "../../errors.ts"
import { HOUR_MS, type Certificate } from "./certificate.ts"
import type { OutcomeStore } from "./outcome-index.ts"

/*
 * What replicas share of a reconcile, in the Redis of their Deduplicator. Keys are `hookline:reconcile:<name>:` and
 *
 *   holder               the process that reconciles; it expires some time after it was last renewed
 *   from                 from when the next holder must list, in milliseconds since 1970 by the sender's clock
 *   attempts:<event>     number of redeliveries of an event that were requested
 *   certificate:<hour>   JSON: the last one that was published
 *   outcomes:<hour>      list of texts of whole lines: the index of outcomes
 *
 * Each replica has its own ledger, so one that becomes the holder lists again.
 */
const KEPT_MS = 32 * 24 * HOUR_MS
/** Texts of an index that one request reads: each has the lines of one process and second. */
const TEXTS = 60

/** The Redis that a reconcile section shares, and its name there. */
export interface SharedPlace extends RedisServer {
  readonly reconcile: string
}

export class SharedReconcile implements OutcomeStore, AsyncDisposable {
  readonly #link: RedisLink
  readonly #prefix: string
  readonly #lease: RedisLease

  constructor(place: SharedPlace, leaseMs?: number) {
    this.#prefix = `hookline:reconcile:${place.reconcile}:`
    this.#link = new RedisLink(place)
    this.#lease = new RedisLease(this.#link, `${this.#prefix}holder`, crypto.randomUUID(), leaseMs)
  }

  /**
   * Becomes the one process that reconciles.
   *
   * @returns a signal that aborts once another process may have become it
   * @throws HooklineError `log_locked`: another process is; `unavailable`
   */
  async hold(): Promise<AbortSignal> {
    const lost = await this.#lease.hold()
    if (typeof lost === "string")
      throw new HooklineError("log_locked", "another process of the service reconciles")
    return lost
  }

  /** Gives up the lease, if it is held. */
  release(): Promise<void> {
    return this.#lease.release()
  }

  /** From when the next holder must list; 0: there was none. */
  async from(): Promise<number> {
    return Number((await this.#link.send("GET", [`${this.#prefix}from`])) ?? 0)
  }

  async saveFrom(ms: number): Promise<void> {
    await this.#set("from", `${ms}`)
  }

  /** Counts an attempt, or takes it back. @returns how many there were, with this one */
  async attempt(event: string, by: 1 | -1): Promise<number> {
    const key = `${this.#prefix}attempts:${event}`
    const attempts = await this.#link.send("INCRBY", [key, `${by}`])
    await this.#link.send("PEXPIRE", [key, `${KEPT_MS}`])
    return Number(attempts)
  }

  /** The last one of an hour that any process published. */
  async certificate(from: string): Promise<Certificate | undefined> {
    const json = await this.#link.send("GET", [`${this.#prefix}certificate:${from}`])
    return json === null ? undefined : (JSON.parse(String(json)) as Certificate)
  }

  async certify(certificate: Certificate): Promise<void> {
    await this.#set(`certificate:${certificate.from}`, JSON.stringify(certificate))
  }

  async append(hour: number, lines: string, keptMs: number): Promise<void> {
    const key = `${this.#prefix}outcomes:${hour}`
    await this.#link.send("RPUSH", [key, lines])
    await this.#link.send("PEXPIRE", [key, `${keptMs + HOUR_MS}`])
  }

  async *read(fromHour: number): AsyncIterable<string> {
    for (let hour = fromHour; hour <= Math.floor(Date.now() / HOUR_MS); hour++)
      for (let at = 0; ; at += TEXTS) {
        const range = [`${this.#prefix}outcomes:${hour}`, `${at}`, `${at + TEXTS - 1}`]
        const texts = (await this.#link.send("LRANGE", range)) as string[]
        yield* texts
        if (texts.length < TEXTS) break
      }
  }

  async forget(): Promise<void> {
    const hour = Math.floor(Date.now() / HOUR_MS)
    for (let at = hour - KEPT_MS / HOUR_MS; at <= hour; at++)
      await this.#link.send("DEL", [`${this.#prefix}outcomes:${at}`])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
    this.#link.close()
  }

  async #set(name: string, text: string): Promise<void> {
    await this.#link.send("SET", [this.#prefix + name, text, "PX", `${KEPT_MS}`])
  }
}
