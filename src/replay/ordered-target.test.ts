import { afterEach, describe, expect, test } from "bun:test"
import { VirtualTime } from "../../test/support/virtual-time.ts"
import type { StoredRecord } from "../brokers/broker.ts"
import type { Attempt, AttemptOptions, Patience } from "./attempt.ts"
import { OrderedTarget } from "./ordered-target.ts"
import type { Sent } from "./target.ts"

let simulated: VirtualTime | undefined
afterEach(() => simulated?.[Symbol.dispose]())

const recordOf = (offset: number, bytes = 1): StoredRecord => ({
  topic: "payments",
  partition: 0,
  offset,
  timestampMs: 0,
  // with and without a key: it makes no difference
  key: offset % 2 === 0 ? undefined : Buffer.from(`k${offset % 3}`),
  value: Buffer.alloc(bytes),
  headers: [],
})

const ended = (outcome: Attempt["outcome"], status: number, more: Partial<Attempt> = {}): Attempt => ({
  outcome,
  status,
  reason: outcome === "delivered" ? "" : `${status}`,
  durationMs: 0,
  ...more,
})
const OK = ended("delivered", 200)
const REFUSED = ended("refused", 400)
const FAILED = ended("unavailable", 500)

interface Posted {
  readonly offset: number
  readonly attempts: number
  /** Since the first one. */
  readonly atMs: number
}

type Answer = (posted: Posted) => Attempt

/** An app in virtual time, whose answers take a while. */
class App {
  readonly posts: Posted[] = []
  readonly outcomes: (Sent | undefined)[] = []
  readonly target: OrderedTarget
  readonly #time = (simulated = new VirtualTime(0))

  constructor(answer: Answer, options: Omit<AttemptOptions, "attempt">, answerMs = 1) {
    this.target = new OrderedTarget({
      ...options,
      attempt: async ({ offset }, signal, { attempts }) => {
        const posted = { offset, attempts, atMs: this.#time.nowMs }
        this.posts.push(posted)
        await new Promise((resolve) => setTimeout(resolve, answerMs))
        return signal.aborted ? FAILED : answer(posted)
      },
    })
  }

  /** Sends that many records; those that are refused are parked at once. */
  send(records: number): this {
    for (let n = 0; n < records; n++) {
      void this.#send(this.outcomes.push(undefined) - 1)
    }
    return this
  }

  async #send(at: number): Promise<void> {
    const sent = (this.outcomes[at] = await this.target.send(recordOf(at)))
    if (typeof sent === "object") this.target.parked()
  }

  /** Runs what is due until then. */
  async until(ms: number): Promise<this> {
    do await Bun.sleep(0)
    while (this.#time.next(ms))
    return this
  }

  get offsets(): number[] {
    return this.posts.map(({ offset }) => offset)
  }

  /** What became of each: `d`elivered, `p`arked, `s`topped, or nothing yet. */
  get fates(): string {
    return this.outcomes.map((it) => (typeof it === "object" ? "p" : (it?.[0] ?? "-"))).join("")
  }
}

const PARK: Patience = { refusals: Number.POSITIVE_INFINITY, parkAfterMs: 600_000, retries: 2 }
const SKIP: Patience = { refusals: 3, retries: 2 }
const HANDLER: Patience = { ...PARK, parkAfterMs: Number.POSITIVE_INFINITY }
const COMMAND: Patience = { refusals: 3 }
const HOUR_MS = 3_600_000

/** Answers a record that way the first times, and accepts it then. */
const failing =
  (offsets: readonly number[], attempt: Attempt, times = Number.POSITIVE_INFINITY): Answer =>
  ({ offset, attempts }) =>
    offsets.includes(offset) && attempts <= times ? attempt : OK
/** Answers all that way until then. */
const down =
  (untilMs: number, attempt: Attempt): Answer =>
  ({ atMs }) =>
    atMs < untilMs ? attempt : OK

describe("records are attempted in order, the next one once the one before it has its outcome:", () => {
  test.each<[what: string, patience: Patience, answer: Answer, offsets: number[], fates: string]>([
    ["all are accepted", PARK, () => OK, [0, 1, 2, 3], "dddd"],
    ["one fails once", PARK, failing([0], FAILED, 1), [0, 0, 1, 2, 3], "dddd"],
    ["one is refused once", PARK, failing([1], REFUSED, 1), [0, 1, 1, 2, 3], "dddd"],
    ["one fails as often as it may", PARK, failing([1], FAILED, 2), [0, 1, 1, 1, 2, 3], "dddd"],
    ["two fail in turn", PARK, failing([0, 1], FAILED, 1), [0, 0, 1, 1, 2, 3], "dddd"],
    ["one fails each time", PARK, failing([1], FAILED), [0, 1, 1, 1, 2, 3], "dpdd"],
    ["one is refused each time", PARK, failing([1], REFUSED), [0, 1, 1, 2, 3], "dpdd"],
    ["two are refused", PARK, failing([0, 1], REFUSED), [0, 0, 1, 0, 1, 2, 3], "ppdd"],
    ["the last one fails each time", PARK, failing([3], FAILED, 9), [0, 1, 2, ...Array(10).fill(3)], "dddd"],
    ["one would be accepted later", PARK, failing([0], FAILED, 3), [0, 0, 0, 1, 2, 3], "pddd"],
    ["one is refused as often as it may", SKIP, failing([0], REFUSED), [0, 0, 0, 1, 2, 3], "pddd"],
    ["one fails each time", SKIP, failing([0], FAILED), [0, 0, 0, 1, 2, 3], "pddd"],
    ["one throws each time", HANDLER, failing([2], FAILED), [0, 1, 2, 2, 2, 3], "ddpd"],
  ])("%s", async (_, patience, answer, offsets, fates) => {
    const app = await new App(answer, { patience }).send(4).until(60_000)
    expect([app.offsets, app.fates]).toEqual([offsets, fates])
  })

  test.each([
    ["one after the other", COMMAND],
    ["until one is refused", { ...SKIP, stops: true }],
  ] as const)(
    "%s no record is attempted before the one that fails",
    async (_, { stops, ...patience }: Patience & { stops?: boolean }) => {
      const app = await new App(failing([1], FAILED), { patience, stops }).send(4).until(HOUR_MS)
      expect(new Set(app.offsets)).toEqual(new Set([0, 1]))
      expect(app.fates).toBe("d---")
    },
  )

  test("after a refusal that ends it none is attempted", async () => {
    const app = new App(failing([1], REFUSED), { patience: SKIP, stops: true }).send(4)
    app.target.parked = () => {}
    await app.until(HOUR_MS)
    expect([app.offsets, app.fates]).toEqual([[0, 1, 1, 1], "dp--"])
    app.target.end()
    expect([await app.until(2 * HOUR_MS), app.fates]).toEqual([app, "dpss"])
  })

  test("a refused record is parked before the next one is attempted", async () => {
    const app = new App(failing([0], REFUSED), { patience: SKIP }).send(2)
    const { parked } = app.target
    app.target.parked = () => {}
    await app.until(60_000)
    expect([app.offsets, app.fates]).toEqual([[0, 0, 0], "p-"])
    parked.call(app.target)
    expect([(await app.until(61_000)).offsets, app.fates]).toEqual([[0, 0, 0, 1], "pd"])
  })
})

describe("a target that accepts nothing is waited for, and nothing is refused:", () => {
  test.each([
    ["5xx", FAILED, PARK],
    ["refusals, as in a deployment", REFUSED, { ...PARK, parkAfterMs: 2 * HOUR_MS }],
    ["errors of a handler", FAILED, HANDLER],
    ["5xx", FAILED, SKIP],
    ["5xx for a command", FAILED, COMMAND],
  ] as const)("an hour of %s", async (_, attempt, patience) => {
    const app = await new App(down(HOUR_MS, attempt), { patience }).send(16).until(HOUR_MS + 11_000)
    const before = app.posts.filter(({ atMs }) => atMs < HOUR_MS)
    expect(app.offsets.slice(before.length)).toEqual(Array.from({ length: 16 }, (_, offset) => offset))
    expect(app.fates).toBe("d".repeat(16))
    // a round in 7.5 to 10 s, of 16 records at most
    expect(before.length).toBeLessThan(500 * 16)
    expect(app.posts.at(-1)!.atMs).toBeLessThan(HOUR_MS + 10_100)
  })

  test("where answers take long, it seldom waits for one to a later record", async () => {
    const app = await new App(() => FAILED, { patience: PARK }, 30_000).send(16).until(24 * HOUR_MS)
    const probes = app.offsets.filter((offset) => offset > 0)
    expect(probes.length * 30_000).toBeWithin(HOUR_MS, (24 * HOUR_MS) / 8)
  })

  test("all that it refuses for park_after is parked", async () => {
    const app = await new App(() => REFUSED, { patience: PARK }).send(4).until(599_000)
    expect(app.fates).toBe("----")
    expect((await app.until(640_000)).fates).toBe("pppp")
  })
})

test.each([
  ["500", FAILED, 60_000],
  ["400", REFUSED, 5000],
])("three in a row that are answered %s hold up the next for seconds", async (_, attempt, withinMs) => {
  const patience = { ...PARK, retries: 5 }
  const app = await new App(failing([1, 2, 3], attempt), { patience }).send(6).until(HOUR_MS)
  expect(app.fates).toBe("dpppdd")
  // those that are parked have had all of their attempts
  for (const offset of [1, 2, 3])
    expect(app.offsets.filter((it) => it === offset).length).toBeGreaterThanOrEqual(
      attempt === FAILED ? 6 : 2,
    )
  expect(app.posts.find(({ offset }) => offset === 4)!.atMs).toBeLessThan(withinMs)
})

test.each([
  [15, "p".repeat(15) + "d"],
  [16, "-".repeat(16)],
])(
  "of a window of 16, %d that fail in a row are told from a target that is down where one is left",
  async (failed, fates) => {
    const offsets = Array.from({ length: failed }, (_, offset) => offset)
    const app = await new App(failing(offsets, FAILED), { patience: PARK }).send(16).until(HOUR_MS)
    expect(app.fates).toBe(fates)
  },
)

test("a record that comes later is the probe of one that fails alone", async () => {
  const app = await new App(failing([0], FAILED), { patience: PARK }).send(1).until(60_000)
  expect(app.fates).toBe("-")
  expect((await app.send(1).until(71_000)).fates).toBe("pd")
})

test("a Retry-After is waited for, also when a probe has none", async () => {
  const asked = ended("unavailable", 503, { retryAfterMs: 20_000 })
  const app = new App(({ offset }) => (offset === 0 ? asked : FAILED), { patience: PARK })
  await app.send(2).until(100_000)
  const first = app.posts.filter(({ offset }) => offset === 0)
  for (const [at, { atMs }] of first.slice(1).entries())
    expect(atMs - first[at]!.atMs).toBeWithin(20_000, 20_010)
})

test("while it is held nothing is attempted, and then the first record again before a probe", async () => {
  const answer: Answer = ({ offset, attempts }) => {
    if (offset === 0 && attempts === 3) app.target.hold(true)
    return offset === 0 && attempts < 5 ? FAILED : OK
  }
  const app = new App(answer, { patience: PARK })
  await app.send(2).until(60_000)
  expect(app.offsets).toEqual([0, 0, 0])
  app.target.hold(false)
  expect([(await app.until(120_000)).offsets, app.fates]).toEqual([[0, 0, 0, 0, 1], "pd"])
})

test("at its end what is under way gets its answer, and the rest is stopped", async () => {
  const app = new App(() => OK, { patience: PARK }).send(3)
  app.target.end()
  await app.until(1000)
  expect([app.offsets, app.fates, app.target.active]).toEqual([[0], "dss", 0])
  expect(await app.target.send(recordOf(9))).toBe("stopped")
})

test("what is stopped has no answer, and is not attempted again", async () => {
  const app = await new App(() => FAILED, { patience: PARK }).send(2).until(100)
  app.target.stop()
  expect([(await app.until(60_000)).offsets, app.fates]).toEqual([[0], "ss"])
})

test("a large record has room for a probe", () => {
  const { target } = new App(() => FAILED, { patience: PARK })
  void target.send(recordOf(0, 20 * 1024 * 1024))
  expect(target.window).toEqual({ records: 16, bytes: Number.POSITIVE_INFINITY })
  void target.send(recordOf(1))
  expect(target.window).toBe(target.largest)
})
