import { expect, test } from "bun:test"
import { pino } from "pino"
import { Metrics } from "../metrics.ts"
import { OtlpTracer, type OtlpTracerOptions } from "./otlp-tracer.ts"

const SENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
const received = () => ({ name: "POST /", attributes: {} })

function tracer(options: Partial<OtlpTracerOptions> = {}): OtlpTracer {
  return new OtlpTracer({
    endpoint: "http://127.0.0.1:1/v1/traces",
    headers: {},
    parent: "continue",
    sample: 1,
    limit: () => 0,
    resource: {},
    log: pino({ level: "silent" }),
    metrics: new Metrics().traces,
    ...options,
  })
}
const headers = (traceparent?: string): Headers =>
  new Headers(traceparent === undefined ? {} : { traceparent })
/** Whether what follows the request is recorded; undefined: the sender's context stays. */
const decision = (it: ReturnType<OtlpTracer["receive"]>): boolean | undefined =>
  it === undefined ? undefined : it.traceparent.endsWith("-01")

test.each([
  // parent, sample, traceparent's flags, what is decided
  ["continue", 0, undefined, false],
  ["continue", 1, undefined, true],
  ["continue", 0, "01", true],
  ["continue", 0, "03", true],
  ["continue", 1, "00", undefined],
  ["continue", 1, "02", undefined],
  ["link", 0, "01", false],
  ["link", 1, "00", true],
  ["link", 1, "01", true],
] as const)("parent = %s, sample = %p, flags %p: %p", (parent, sample, flags, decided) => {
  const sent = flags && SENT + flags
  expect(decision(tracer({ parent, sample }).receive(headers(sent), received))).toBe(decided!)
})

test("sample is the share of requests without a parent that are traced", () => {
  const quarter = tracer({ sample: 0.25 })
  const requests = 4000
  let traced = 0
  for (let i = 0; i < requests; i++) if (decision(quarter.receive(headers(), received))) traced++
  // six standard deviations
  expect(Math.abs(traced - requests / 4)).toBeLessThan(6 * Math.sqrt(requests * 0.25 * 0.75))
})

test("over the limit nothing is described or recorded, and a sender's context stays", () => {
  const none = tracer({ limit: () => 1 })
  const fails = () => {
    throw new Error("described")
  }
  expect(decision(none.receive(headers(), fails))).toBe(false)
  expect(none.receive(headers(`${SENT}01`), fails)).toBeUndefined()
})

test("a request that is not recorded has one context", () => {
  const trace = tracer({ sample: 0 }).receive(headers(), received)!
  expect(trace.traceparent).toBe(trace.traceparent)
  expect(trace.start("publish", "producer", {})).toBeUndefined()
})
