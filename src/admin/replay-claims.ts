import { hostname } from "node:os"
import { RedisLink, type RedisServer } from "../dedupe/redis-client.ts"
import { RedisLease } from "../dedupe/redis-lease.ts"
import { HooklineError } from "../errors.ts"
import { ApiError } from "./api/problem.ts"
import type { ReplayClaim } from "./api/replica-shapes.ts"
import type { Replica } from "./replicas.ts"

/*
 * Who runs a replay: of those with the same key, one at a time in all replicas.
 *
 *   with the Redis of `[service]`   it holds a lease of the key `hookline:replay:<key>`, whose value is the claim
 *   without                         it announces its claim, then asks the other replicas for theirs. A claim that is held
 *                                   wins. Of two that are announced at once at least one sees the other; the higher id
 *                                   yields, and both ask again: one that yields until another holds it, the other until
 *                                   no one else announces, since the other may have asked before.
 */
export class ReplayClaims {
  readonly #process: string
  readonly #redis: () => RedisServer | undefined
  readonly #own = new Map<string, OwnClaim>()

  /** @param process the id of this one */
  constructor(process: string, redis: () => RedisServer | undefined) {
    this.#process = process
    this.#redis = redis
  }

  /** Those of this process. */
  list(): ReplayClaim[] {
    return [...this.#own.values()].flatMap(({ claim, state }) =>
      state === "yields" ? [] : [{ ...claim, is_held: state === "held" }],
    )
  }

  /**
   * @param others the other replicas
   * @param opened gives it up at its disposal
   * @returns aborts once another replica may run the replay; undefined: none may
   * @throws ApiError 409 with who runs it; HooklineError `unavailable`
   */
  async claim(
    key: string,
    others: readonly Replica[],
    opened: AsyncDisposableStack,
  ): Promise<AbortSignal | undefined> {
    const running = this.#own.get(key)
    if (running !== undefined) throw taken(running.claim, "this replica")
    const of = { process: this.#process, host: hostname(), since: Date.now() }
    const own: OwnClaim = { claim: { id: crypto.randomUUID(), key, ...of }, state: "announced" }
    this.#own.set(key, own)
    opened.defer(() => void this.#own.delete(key))
    const redis = this.#redis()
    const lost =
      redis === undefined ? await askOthers(own, others) : await holdIn(redis, own.claim, others, opened)
    own.state = "held"
    return lost
  }
}

type Claim = Omit<ReplayClaim, "is_held">

interface OwnClaim {
  readonly claim: Claim
  /** Others see it unless it yields. */
  state: "announced" | "yields" | "held"
}

async function holdIn(
  redis: RedisServer,
  claim: Claim,
  others: readonly Replica[],
  opened: AsyncDisposableStack,
): Promise<AbortSignal> {
  const link = opened.adopt(new RedisLink(redis), (it) => it.close())
  const lease = new RedisLease(link, `hookline:replay:${claim.key}`, JSON.stringify(claim))
  opened.defer(() => lease.release())
  const lost = await lease.hold().catch((cause: Error) => {
    const problem = `it is not known whether another replica runs this replay: ${cause.message}`
    throw new HooklineError("unavailable", problem, { cause })
  })
  if (typeof lost !== "string") return lost
  const holder = (lost === "" ? {} : JSON.parse(lost)) as Partial<Claim>
  throw taken(holder, others.find(({ overview }) => overview?.process === holder.process)?.name)
}

const AGAIN_MS = 50

async function askOthers(own: OwnClaim, others: readonly Replica[]): Promise<undefined> {
  for (;;) {
    const { claim, state } = own
    const same = (await Promise.all(others.map((it) => claimsOf(it))))
      .flat()
      .filter(({ key }) => key === claim.key)
    const held = same.find((it) => it.is_held)
    if (held !== undefined) throw taken(held, held.replica)
    if (same.length === 0 && state === "announced") return undefined
    own.state = same.some(({ id }) => id < claim.id) ? "yields" : "announced"
    await Bun.sleep(AGAIN_MS)
  }
}

/** How often a replica is asked that does not answer in time. */
const ATTEMPTS = 3

/** @throws HooklineError `unavailable` where it may run a replay: it accepts connections, and does not list its claims */
async function claimsOf(replica: Replica, attempt = 1): Promise<(ReplayClaim & { replica?: string })[]> {
  const { name, client } = replica
  try {
    return (await client.ask<ReplayClaim[]>("replays/claims")).map((it) => client.named(it))
  } catch (error) {
    const { message, cause } = error as Error
    const isLate = error instanceof HooklineError && (cause as Error).name === "TimeoutError"
    if (isLate && attempt < ATTEMPTS) return claimsOf(replica, attempt + 1)
    if (!isLate && error instanceof HooklineError) return []
    const problem = `replica ${name} does not say whether it runs this replay: ${message}; try again`
    throw new HooklineError("unavailable", problem, { cause: error })
  }
}

function taken({ host = "another replica", since }: Partial<Claim>, replica: string | undefined): ApiError {
  const where = replica === undefined ? host : `${host} (${replica})`
  const when = since === undefined ? "" : ` since ${new Date(since).toISOString()}`
  return new ApiError(
    409,
    `${where} replays this topic to this target${when}; cancel that replay, or wait for its end`,
  )
}
