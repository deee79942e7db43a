import { steadyMs, within } from "../../clock/clock.ts"
import { Lasting } from "../../clock/lasting.ts"
import { RedisLink, type RedisServer } from "../../dedupe/redis-client.ts"
import type { Logger } from "../../telemetry/log.ts"
import { shareOf, tokenBucket, type Rate, type RateLimit } from "../../http/admission/rate-limit.ts"

/*
 * Rate limits that processes share, in the Redis of `[service]`:
 *
 *   hookline:limit:<name>   a token bucket: its tokens at a time of Redis's clock, in milliseconds; absent: full
 *   hookline:processes      a sorted set of the processes that share, by the second at which each was last seen
 *
 * A process takes permits in batches, each by one script call: as many as came within the last BATCH_MS, and at most as many
 * as the limit allows in that time. It asks for the next batch once half of one is used, so an event waits for Redis only
 * if none came for a while. When Redis has no more, events are refused without asking until it has.
 *
 * While Redis is gone or late, each process has a bucket of its own with its share: the limit divided by the number of
 * processes that was last known, from Redis or, before it has answered, from the configuration.
 */
const BATCH_MS = 100
/** Permits that are unused for this long are given back. */
const KEPT_MS = 1000
/** An answer of Redis that takes longer is late. */
const LATE_MS = 250
/** How often a process reports itself as running. An outage of Redis is logged once it lasts as long. */
const SEEN_EVERY_MS = 1000

const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local rate, burst, want = ARGV[1] / 1000, tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = burst
if kept[1] then tokens = math.min(burst, kept[1] + math.max(0, now - kept[2]) * rate + ARGV[4]) end
local taken = math.min(want, math.floor(tokens))
tokens = tokens - taken
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', string.format('%.3f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / rate) + 1000)
return { taken, math.ceil((1 - tokens) / rate) }`

const SEEN = `
local now = tonumber(redis.call('TIME')[1])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 10)
redis.call('EXPIRE', KEYS[1], 60)
return redis.call('ZCARD', KEYS[1])`

/** What the limits of a process share: the connection, and the number of processes. */
export class SharedLimits {
  /** Whether Redis counts; each process has its share otherwise. */
  isShared = false
  /** As last known. */
  processes = 1
  readonly #server: RedisServer
  readonly #link: RedisLink
  readonly #log: Pick<Logger, "info" | "error">
  readonly #outage = new Lasting({ afterMs: SEEN_EVERY_MS })
  readonly #id = crypto.randomUUID()
  readonly #timer: Timer
  #isCounted = false

  /** @param replicas how many there are, as configured */
  constructor(server: RedisServer, replicas: Promise<number>, log: Pick<Logger, "info" | "error">) {
    this.#server = server
    this.#log = log
    void this.#expect(replicas)
    // also that the user may: a refused TAKE would end with each SEEN, and not last long enough to be logged
    this.#link = new RedisLink(server, {
      connected: async (send) =>
        void (await send("EVAL", [TAKE, "1", "hookline:limits", "1", "1", "0", "0"])),
    })
    this.#timer = setInterval(() => void this.#seen().catch(() => {}), SEEN_EVERY_MS)
  }

  /** A limit that all processes with this name share. */
  limit(name: string, rate: Rate): RateLimit {
    const limit = new SharedLimit(`hookline:limit:${name}`, rate, this)
    return () => limit.take()
  }

  /** Runs a script on one key. @throws Error when Redis is gone or late, which is logged once */
  async run(script: string, key: string, args: readonly (string | number)[]): Promise<unknown> {
    try {
      const send = this.#link.send("EVAL", [script, "1", key, ...args.map(String)])
      return await within(LATE_MS, send, () => {
        throw new Error(`${this.#server.name} did not answer within ${LATE_MS} ms`)
      })
    } catch (error) {
      this.isShared = false
      if (this.#outage.began() !== undefined)
        this.#log.error(
          { processes: this.processes },
          `rate limits are not shared: ${(error as Error).message}; each process has its share of them`,
        )
      throw error
    }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#link.close()
  }

  async #expect(replicas: Promise<number>): Promise<void> {
    const processes = await replicas
    if (!this.#isCounted) this.processes = processes
  }

  async #seen(): Promise<void> {
    this.processes = Number(await this.run(SEEN, "hookline:processes", [this.#id]))
    this.#isCounted = true
    this.isShared = true
    const ms = this.#outage.ended()
    if (ms !== undefined) this.#log.info({ after_ms: ms }, "rate limits are shared again")
  }
}

class SharedLimit {
  readonly #key: string
  readonly #rate: Rate
  readonly #shared: SharedLimits
  #permits = 0
  #batch = 0
  /** Events since the last batch was asked for. */
  #came = 0
  #askedMs = steadyMs()
  #waiting = 0
  #asking: Promise<void> | undefined
  /** Redis has no permits until then. */
  #emptyUntilMs = 0
  #share: { readonly processes: number; readonly take: () => number } | undefined

  constructor(key: string, rate: Rate, shared: SharedLimits) {
    this.#key = key
    this.#rate = rate
    this.#shared = shared
  }

  take(): number | Promise<number> {
    if (!this.#shared.isShared) return this.#ofShare()
    this.#came++
    if (this.#permits > 0 && steadyMs() - this.#askedMs < KEPT_MS) {
      this.#permits--
      if (this.#permits <= this.#batch / 2 && this.#batch > 1) void this.#ask()
      return 0
    }
    return this.#refusal() ?? this.#wait()
  }

  #refusal(): number | undefined {
    const leftMs = this.#emptyUntilMs - steadyMs()
    return leftMs > 0 ? Math.ceil(leftMs / 1000) : undefined
  }

  async #wait(): Promise<number> {
    this.#waiting++
    try {
      for (;;) {
        await this.#ask()
        if (!this.#shared.isShared) return this.#ofShare()
        if (this.#permits > 0) {
          this.#permits--
          return 0
        }
        const seconds = this.#refusal()
        if (seconds !== undefined) return seconds
      }
    } finally {
      this.#waiting--
    }
  }

  #ask(): Promise<void> {
    return (this.#asking ??= this.#takeBatch()
      .catch(() => {})
      .finally(() => (this.#asking = undefined)))
  }

  async #takeBatch(): Promise<void> {
    if (this.#refusal() !== undefined) return
    const { perSecond, burst } = this.#rate
    const nowMs = steadyMs()
    const sinceMs = nowMs - this.#askedMs
    const back = sinceMs < KEPT_MS ? 0 : this.#permits
    this.#permits -= back
    const expected = (this.#came * BATCH_MS) / Math.max(sinceMs, 1)
    this.#batch = Math.ceil(Math.min(expected, (perSecond * BATCH_MS) / 1000))
    this.#came = 0
    this.#askedMs = nowMs
    // so that other events of this turn of the event loop count as waiting
    await Promise.resolve()
    const want = Math.max(this.#batch, this.#waiting, 1)
    const [taken, emptyMs] = (await this.#shared.run(TAKE, this.#key, [perSecond, burst, want, back])) as [
      number,
      number,
    ]
    this.#permits += taken
    // otherwise Redis would be asked for each single token
    const pauseMs = Math.min(BATCH_MS / 2, (burst / perSecond) * 500)
    if (taken < want) this.#emptyUntilMs = steadyMs() + Math.max(emptyMs, pauseMs)
  }

  #ofShare(): number {
    const { processes } = this.#shared
    if (this.#share?.processes !== processes)
      this.#share = { processes, take: tokenBucket(shareOf(this.#rate, processes)) }
    return this.#share.take()
  }
}
