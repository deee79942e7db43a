import { expect, test } from "bun:test"
import { pino } from "pino"
import { steadyMs } from "../../clock/clock.ts"
import { Metrics } from "../metrics.ts"
import type { EndedSpan } from "./otlp.ts"
import { SpanQueue } from "./span-queue.ts"
import { scraped } from "../../../test/support/scraped.ts"
import { HANG_MS } from "../../../test/support/hang.ts"

const SPAN: EndedSpan = {
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  isSampled: true,
  tracestate: undefined,
  parentSpanId: undefined,
  link: undefined,
  name: "a",
  kind: "server",
  startMs: 1_790_000_000_000,
  endMs: 1_790_000_000_001.5,
  attributes: {},
  isError: false,
}

/** A queue that sends to a server with these answers, one after another, then 200; and what it has logged. */
function queueTo(...answers: (() => Response)[]) {
  const sizes: number[] = []
  const { promise: second, resolve } = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      if (new URL(request.url).pathname === "/elsewhere") throw new Error("redirected")
      sizes.push((await request.bytes()).length)
      if (sizes.length === 2) resolve()
      return (answers.shift() ?? (() => new Response()))()
    },
  })
  const lines: { msg: string; reason?: string }[] = []
  const metrics = new Metrics()
  const queue = new SpanQueue({
    endpoint: `${server.url.href}v1/traces`,
    headers: { authorization: "not-a-real-token" },
    resource: { "service.name": "test" },
    log: pino({}, { write: (line) => void lines.push(JSON.parse(line)) }),
    metrics: metrics.traces,
  })
  const span = (): void => queue.add(SPAN)
  const counted = async (labels: string): Promise<number> => {
    const text = await scraped(metrics)
    const [, count] = text
      .split("\n")
      .find((line) => line.startsWith(`hookline_trace_spans_total{${labels}}`))!
      .split("} ")
    return Number(count)
  }
  return { queue, span, sizes, second, lines, counted, [Symbol.asyncDispose]: () => server.stop(true) }
}
const soon = (): number => steadyMs() + HANG_MS
const EXPORTED = 'outcome="exported",reason=""'
const REFUSED = 'outcome="dropped",reason="refused"'

test("a full batch is sent at once, the rest with the close", async () => {
  await using to = queueTo()
  for (let i = 0; i < 300; i++) to.span()
  await to.queue.close(soon())
  expect(to.sizes).toHaveLength(3)
  expect(await to.counted(EXPORTED)).toBe(300)
})

test.each([
  ["a redirect, which would take the headers elsewhere", () => Response.redirect("/elsewhere"), "HTTP 302"],
  [
    "an answer that is none of OTLP",
    () => new Response("<html>"),
    "not an OTLP endpoint: its answer is none of OTLP",
  ],
  ["a refusal", () => new Response("no", { status: 400 }), "HTTP 400"],
] as const)("%s drops the batch", async (_, answer, reason) => {
  await using to = queueTo(answer)
  to.span()
  await to.queue.close(soon())
  expect(to.sizes).toHaveLength(1)
  expect(to.lines).toEqual([expect.objectContaining({ msg: expect.stringContaining("refused"), reason })])
  expect(await to.counted(REFUSED)).toBe(1)
})

test("a batch that was not taken is sent again, not before Retry-After", async () => {
  await using to = queueTo(() => new Response(null, { status: 429, headers: { "Retry-After": "2" } }))
  for (let i = 0; i < 128; i++) to.span()
  const began = performance.now()
  await to.second
  expect(performance.now() - began).toBeGreaterThan(1990)
  await to.queue.close(soon())
  expect(await to.counted(EXPORTED)).toBe(128)
  expect(to.lines.map(({ msg }) => msg)).toEqual([
    "collector unavailable; traces wait, up to a limit",
    "traces are exported again",
  ])
})

test("a close does not try again, and a span after it is dropped", async () => {
  await using to = queueTo(() => new Response(null, { status: 503 }))
  to.span()
  await to.queue.close(soon())
  to.span()
  expect(to.sizes).toHaveLength(1)
  expect(await to.counted('outcome="dropped",reason="closed"')).toBe(2)
})
