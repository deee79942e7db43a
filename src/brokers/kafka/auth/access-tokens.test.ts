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

  test("once closed nothing is asked for", async () => {
    const simulation = new Simulation()
    await valueOf(simulation)
    simulation.tokens.close()
    await simulation.until(1_000_000)
    expect(simulation.asked).toBe(1)
  })
})
