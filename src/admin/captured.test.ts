import { expect, test } from "bun:test"
import { eventOf } from "../../test/support/event.ts"
import { Dropped, Rejected, type Outcome } from "../pipeline/outcome.ts"
import { Captures } from "./captured.ts"
import { ReasonTallies } from "./reason-tallies.ts"

const REFUSED = new Rejected(400, "invalid_json", "The body is not JSON.")
const ACCEPTED: Outcome = { kind: "accepted", receipt: { partition: 1, offset: 7 } }
const LIMITS = { mode: "all", maxRequests: 16, maxBytes: 64 * 1024 } as const

function capturesOf(limits: Partial<Parameters<Captures["setLimits"]>[0]> = {}): Captures {
  const captures = new Captures()
  captures.setLimits({ ...LIMITS, ...limits })
  return captures
}
function keep(captures: Captures, outcome: Outcome, body = "{}", pipeline: string | undefined = "p"): void {
  const event = eventOf(body)
  const { request } = event
  captures.keep({ pipeline, request, event, bytes: body.length, status: 200, outcome })
}
const count = (captures: Captures, outcome?: Outcome["kind"]): number =>
  captures.list({ outcome, limit: 1000 }).length

test("refused, accepted and unknown ones each have their share of the places", () => {
  const captures = capturesOf()
  for (let n = 0; n < 50; n++) keep(captures, REFUSED)
  expect(count(captures)).toBe(6)
  for (let n = 0; n < 50; n++) keep(captures, ACCEPTED)
  expect([count(captures, "rejected"), count(captures, "accepted")]).toEqual([6, 8])
  for (let n = 0; n < 50; n++)
    captures.keep({
      pipeline: undefined,
      request: eventOf("{}").request,
      event: undefined,
      bytes: undefined,
      status: 404,
      outcome: REFUSED,
    })
  expect(count(captures)).toBe(16)
})

test("memory is bounded, by the sizes of bodies as well", () => {
  const captures = capturesOf({ maxRequests: 1000 })
  const body = "x".repeat(10_000)
  for (let n = 0; n < 20; n++) keep(captures, REFUSED, body)
  // three eighths of 64 KiB
  expect(count(captures)).toBe(2)
  keep(captures, REFUSED, "x".repeat(17_000))
  const [newest] = captures.list({ limit: 1 })
  expect([newest!.bytes, captures.find(newest!.id)!.body]).toEqual([17_000, undefined])
})

test("refused and dropped ones are counted, kept or not, whatever is captured", () => {
  for (const mode of ["off", "refused", "all"] as const) {
    const captures = capturesOf({ mode })
    for (let n = 0; n < 50; n++) keep(captures, REFUSED)
    keep(captures, new Rejected(400, "invalid_json", "It is not JSON."))
    keep(captures, new Dropped("duplicate"), "{}", "q")
    const tallies = [...captures.tallies]
    expect(tallies).toMatchObject([
      { pipeline: "p", outcome: "rejected", reason: "invalid_json", count: 51, detail: "It is not JSON." },
      { pipeline: "q", outcome: "dropped", reason: "duplicate", count: 1, detail: undefined },
    ])
    expect(tallies[0]!.firstMs).toBeLessThanOrEqual(tallies[0]!.lastMs)
    expect(captures.tallies.refused).toBe(51)
    expect(count(captures)).toBe({ off: 0, refused: 14, all: 7 }[mode])
    captures.clear()
    expect([captures.tallies.refused, ...captures.tallies]).toEqual([0])
  }
})

test("what was counted of up to 5,000 pipelines and reasons is kept, and gives way where nothing comes any more", () => {
  const tallies = new ReasonTallies()
  const refuse = (pipeline: string, atMs: number): void =>
    tallies.count(
      { pipeline, outcome: "rejected", reason: "invalid_json", status: 400, detail: undefined },
      atMs,
    )
  refuse("idle", 0)
  for (let n = 0; n < 10_000; n++) {
    refuse(`p${n}`, n)
    if (n % 100 === 0) refuse("busy", n)
  }
  const counted = new Map([...tallies].map((it) => [it.pipeline, it.count]))
  expect([counted.get("busy"), counted.get("idle"), counted.get("p9999")]).toEqual([100, undefined, 1])
  expect(counted.size).toBeWithin(4500, 5001)
  expect(tallies.refused).toBe(10_101)
})

test("refused and dropped ones are wanted, faults among them, and accepted ones only where all are", () => {
  const refused = capturesOf({ mode: "refused" })
  expect([refused.wants(REFUSED), refused.wants(undefined), refused.wants(ACCEPTED)]).toEqual([
    true,
    true,
    false,
  ])
  expect([capturesOf().wants(ACCEPTED), refused.keepsAccepted, capturesOf().keepsAccepted]).toEqual([
    true,
    false,
    true,
  ])
})

test("a list has no bodies or headers, and what was kept is found whole", () => {
  const captures = capturesOf()
  keep(captures, ACCEPTED, '{"a":1}')
  const [listed] = captures.list({ limit: 1 })
  expect(listed).not.toHaveProperty("body")
  expect(listed).not.toHaveProperty("headers")
  expect(listed!.place).toEqual({ topic: undefined, partition: 1, offset: 7 })
  expect(Buffer.from(captures.find(listed!.id)!.body!).toString()).toBe('{"a":1}')
})

test("of a flood of requests, a limited number of each kind is kept in a second, and the rest costs nothing", () => {
  const captures = capturesOf({ maxRequests: 400 })
  const { request } = eventOf("{}")
  let read = 0
  const flood = {
    ...request,
    get headers() {
      read++
      return request.headers
    },
  }
  const seconds = new Set<number>()
  for (let n = 0; n < 9000; n++) {
    seconds.add(Math.floor(Date.now() / 1000))
    captures.keep({
      pipeline: "p",
      request: flood,
      event: undefined,
      bytes: 1,
      status: 400,
      outcome: REFUSED,
    })
  }
  seconds.add(Math.floor(Date.now() / 1000))
  expect(read).toBeGreaterThanOrEqual(1000)
  expect(read).toBeLessThanOrEqual(1000 * seconds.size)
  keep(captures, ACCEPTED)
  expect(count(captures, "accepted")).toBe(1)
})
