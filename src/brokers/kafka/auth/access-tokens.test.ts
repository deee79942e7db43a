import { afterEach, describe, expect, test } from "bun:test"
import { pino } from "pino"
import { VirtualTime } from "../../../../test/support/virtual-time.ts"
import { type AccessToken, AccessTokens, TokenFailure } from "./access-tokens.ts"

let simulated: VirtualTime | undefined
afterEach(() => simulated?.[Symbol.dispose]())

/** A clock that a test moves, with an issuer of numbered tokens that live 100 s. */
class Simulation {
  readonly log: string[] = []
  readonly incidents: string[] = []
  asked = 0
  /** Undefined: it issues. */
  fails: string | undefined
  readonly #time = (simulated = new VirtualTime(0))
  #held: PromiseWithResolvers<void> | undefined

  readonly tokens = new AccessTokens(
    { name: "issuer", issue: () => this.#issue() },
    {
      log: pino({}, { write: (line) => void this.log.push(JSON.parse(line).msg) }),
      metrics: { incident: (kind) => void this.incidents.push(kind) },
    },
  )

  async #issue(): Promise<AccessToken> {
    const value = `token ${++this.asked}`
    await this.#held?.promise
    if (this.fails !== undefined) throw new TokenFailure(this.fails)
    return { value, lifetimeMs: 100_000 }
  }

  /** Requests stay under way until they are let go. */
  hold(): () => void {
    const held = (this.#held = Promise.withResolvers<void>())
    return () => {
      this.#held = undefined
      held.resolve()
    }
  }

  /** Runs what is due until then. */
  async until(ms: number): Promise<void> {
    do await Bun.sleep(0)
    while (this.#time.next(ms))
    this.#time.nowMs = ms
  }
}

const valueOf = async ({ tokens }: Simulation): Promise<string> => (await tokens.get()).value

describe("access tokens", () => {
  test("many callers at once make one request", async () => {
    const simulation = new Simulation()
    const release = simulation.hold()
    const all = Promise.all(Array.from({ length: 10 }, () => valueOf(simulation)))
    release()
    expect(new Set(await all)).toEqual(new Set(["token 1"]))
    expect(simulation.asked).toBe(1)
  })

  test("one is renewed after 0.7 of its lifetime, and serves until the next one has come", async () => {
    const simulation = new Simulation()
    await valueOf(simulation)
    await simulation.until(69_999)
    expect(simulation.asked).toBe(1)
    const release = simulation.hold()
    await simulation.until(70_000)
    expect(simulation.asked).toBe(2)
    expect(await simulation.tokens.get()).toEqual({ value: "token 1", lifetimeMs: 30_000 })
    release()
    await simulation.until(70_001)
    expect(await valueOf(simulation)).toBe("token 2")
  })

  test("while it can't be renewed it serves until it expires, with a pause that doubles to 10 s, and is logged once", async () => {
    const simulation = new Simulation()
    await valueOf(simulation)
    simulation.fails = "no answer"
    await simulation.until(99_999)
    expect(await valueOf(simulation)).toBe("token 1")
    // at 70 s, then after 0.5, 1, 2, 4, 8 and 10 s
    expect(simulation.asked).toBe(1 + 7)
    await simulation.until(100_000)
    await expect(valueOf(simulation)).rejects.toThrow("no answer")
    expect(simulation.log).toEqual(["access token not renewed; retrying"])
    expect(simulation.incidents).toEqual(["access_token_not_renewed"])
    simulation.fails = undefined
    await simulation.until(111_000)
    expect(await valueOf(simulation)).toBe("token 9")
    expect(simulation.log).toEqual(["access token not renewed; retrying", "access token renewed"])
  })

  test("without one callers fail at once until the pause is over", async () => {
    const simulation = new Simulation()
    simulation.fails = "refused"
    for (let i = 0; i < 5; i++) await expect(valueOf(simulation)).rejects.toThrow("refused")
    expect(simulation.asked).toBe(1)
    simulation.fails = undefined
    await simulation.until(500)
    expect(await valueOf(simulation)).toBe("token 2")
    expect(simulation.log).toEqual([])
  })

  test("a rejected one is replaced, unless it is from just now or another has taken its place", async () => {
    const simulation = new Simulation()
    simulation.tokens.rejected(await valueOf(simulation))
    expect(await valueOf(simulation)).toBe("token 1")
    await simulation.until(6000)
    simulation.tokens.rejected("another")
    expect(await valueOf(simulation)).toBe("token 1")
    simulation.tokens.rejected("token 1")
    expect(await valueOf(simulation)).toBe("token 2")
  })

  test("once closed nothing is asked for", async () => {
    const simulation = new Simulation()
    await valueOf(simulation)
    simulation.tokens.close()
    await simulation.until(1_000_000)
    expect(simulation.asked).toBe(1)
  })
})
