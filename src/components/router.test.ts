import { expect, test } from "bun:test"
import { componentContext } from "../../test/support/component-context.ts"
import { eventOf, IN_TIME } from "../../test/support/event.ts"
import type { Values } from "../config/options/option-types.ts"
import { Event } from "../pipeline/event.ts"
import { EVENT_VALUE } from "./extraction.ts"
import { router } from "./router.ts"
import type { Ended } from "../pipeline/outcome.ts"
import { ROUTER_OPTIONS } from "./router/options.ts"

type Options = Values<typeof ROUTER_OPTIONS>

const parse = (key: keyof Options, text: string): unknown => ROUTER_OPTIONS[key].parse(text, { baseDir: "/" })

/** A Router with options as the file spells them. */
function routing(texts: { readonly [key in keyof Options]?: string }, known = new Set<string>()) {
  const values = Object.fromEntries(
    Object.entries({ max_topics: "100", unsigned: "false", ...texts }).map(([key, text]) => [
      key,
      parse(key as keyof Options, text),
    ]),
  ) as Options
  const context = componentContext()
  const prepared: string[] = []
  const unrouted: string[] = []
  const logged: unknown[] = []
  const log = Object.assign(Object.create(context.log), {
    warn: (fields: unknown) => void logged.push(fields),
    error: (fields: unknown) => void logged.push(fields),
  })
  const step = router.create(values, {
    ...context,
    log,
    metrics: {
      ...context.metrics,
      unrouted: (reason, count = 1) => void unrouted.push(...Array<string>(count).fill(reason)),
    },
    prepareTopics: (names) => void prepared.push(...names),
    acquire: () => known as never,
  })
  /** The topic, `sink` for the sink's, or how the event ended. */
  const of = (body: object | string, headers: { [name: string]: string } = {}): string => {
    const result = step(eventOf(typeof body === "string" ? body : JSON.stringify(body), { headers }), IN_TIME)
    if (result instanceof Promise || Array.isArray(result)) throw new Error("not one event, at once")
    if (result instanceof Event) return result.topic ?? "sink"
    const ended = result as Ended
    return ended.kind === "rejected" ? `${ended.status} ${ended.reason}` : `${ended.kind} ${ended.reason}`
  }
  return { of, prepared, unrouted, logged }
}

const LINES = "invoice.* = billing\ncustomer.* = crm\nping = drop\na=b = odd\n*.test = other"

test.each([
  [{ type: "invoice.paid" }, "billing"],
  [{ type: "customer.created" }, "crm"],
  [{ type: "invoice.test" }, "billing"],
  [{ type: "order.test" }, "other"],
  [{ type: "a=b" }, "odd"],
  [{ type: "ping" }, "dropped routed_to_drop"],
])("lines: the first that matches decides: %p goes to %s", (body, topic) => {
  const { of, prepared, unrouted } = routing({ by: "json:/type", routes: LINES })
  expect(of(body)).toBe(topic)
  expect(prepared).toEqual(["billing", "crm", "odd", "other"])
  expect(unrouted).toEqual([])
})

test.each([
  [{ type: "order.paid" }, "no_rule", 0],
  [{}, "no_value", 1],
  [{ type: null }, "no_value", 1],
  [{ type: ["invoice.paid"] }, "no_value", 1],
])("an event of no line, %p, goes to the sink's topic, counted as %s", (body, reason, lines) => {
  const { of, unrouted, logged } = routing({ by: "json:/type", routes: LINES })
  expect(of(body)).toBe("sink")
  expect(unrouted).toEqual([reason])
  expect(logged.length).toBe(lines)
})

test("an event without the value is not dropped by a line for every value", () => {
  expect(routing({ by: "json:/type", routes: "* = drop" }).of({})).toBe("sink")
})

const TEMPLATE = { topic: "events.{json:/type}", topics: "events.*" }

test.each<[type: unknown, topic: string, reason: string | undefined]>([
  ["invoice.paid", "events.invoice.paid", undefined],
  [42, "events.42", undefined],
  ["a/b", "sink", "invalid_topic"],
  ["a b", "sink", "invalid_topic"],
  ["ä", "sink", "invalid_topic"],
  ["a\nb", "sink", "invalid_topic"],
  ["x".repeat(242), `events.${"x".repeat(242)}`, undefined],
  ["x".repeat(243), "sink", "invalid_topic"],
  ["x".repeat(1_000_000), "sink", "invalid_topic"],
  ["", "sink", "no_value"],
  [undefined, "sink", "no_value"],
])("a template and %p", (type, topic, reason) => {
  const { of, unrouted, prepared } = routing(TEMPLATE)
  expect(of({ type })).toBe(topic)
  expect(unrouted).toEqual(reason === undefined ? [] : [reason])
  expect(prepared).toEqual(topic === "sink" ? [] : [topic])
})

test.each([
  ["payroll", "topic_not_allowed"],
  ["__consumer_offsets", "topic_not_allowed"],
  [".", "invalid_topic"],
  ["..", "invalid_topic"],
])("a template of a value alone gives no topic %s", (type, reason) => {
  const topics = type === "payroll" ? "hooks.*" : "*"
  const { of, unrouted } = routing({ topic: "{json:/type}", topics })
  expect(of({ type })).toBe("sink")
  expect(unrouted).toEqual([reason])
})

test("a template can have several values, of headers too", () => {
  const topic = "{header:X-Tenant}.{json:/a/b}.v1"
  const { of } = routing({ topic, topics: "*", unsigned: "true" })
  expect(of({ a: { b: "paid" } }, { "x-tenant": "acme" })).toBe("acme.paid.v1")
  expect(of({ a: { b: "paid" } })).toBe("sink")
})

test("a template gives max_topics topics; events of further ones go to the sink's, those of known ones continue", () => {
  const known = new Set<string>()
  const { of, prepared, logged, unrouted } = routing({ ...TEMPLATE, max_topics: "2" }, known)
  expect([of({ type: "a" }), of({ type: "b" }), of({ type: "a" })]).toEqual([
    "events.a",
    "events.b",
    "events.a",
  ])
  expect([of({ type: "c" }), of({ type: "d" })]).toEqual(["sink", "sink"])
  expect(unrouted).toEqual(["too_many_topics", "too_many_topics"])
  expect(of({ type: "b" })).toBe("events.b")
  expect(prepared).toEqual(["events.a", "events.b"])
  expect(logged).toEqual([{ events: 1, max_topics: 2 }])
  // after a reload those in use are prepared again, but for those that are not allowed any more
  const after = routing({ ...TEMPLATE, topics: "events.a", max_topics: "2" }, known)
  expect(after.prepared).toEqual(["events.a"])
  // the Router from before routes until the reload switches
  expect(of({ type: "b" })).toBe("events.b")
  expect(after.of({ type: "b" })).toBe("sink")
})

test.each([
  ["routes", "invoice.*", "is not a line `pattern = topic`"],
  ["routes", "= billing", "has no pattern"],
  ["routes", "a = b/c", 'the target of "a" is not a topic name'],
  ["routes", "a = ..", 'the target of "a" is not a topic name'],
  ["topic", "events", "is not"],
  ["topic", "events/{json:/type}", "is not"],
  ["topic", "events.{json:type}", "is not"],
  ["topic", "events.{path:0}", "is not"],
  ["routes", "a = b, c, b", 'the target of "a" has a topic twice'],
  ["routes", "a = b, drop", 'the target of "a" has a topic twice, or drop among topics'],
  ["topic", "events.{json:/type", "is not"],
  ["by", "path:x", "is not"],
  ["by", "query:", "is not"],
] as const)("%s = %s is wrong", (key, text, message) => {
  expect(() => parse(key, text)).toThrow(message)
})

test.each([
  ["path", "/webhook/shop/eu"],
  ["path:1", "shop"],
  ["path:2", "eu"],
  ["path:3", undefined],
  ["query:a", "x y"],
  ["query:b", undefined],
])("the value of %s is %p", (by, expected) => {
  const event = eventOf("{}", { path: "/webhook/shop/eu", query: "a=x+y&a=z&b=" })
  const value = EVENT_VALUE.parse(by, undefined, "/webhook/*")!(event)
  expect(value && Buffer.from(value).toString()).toBe(expected)
})

test("under an exact path there are no segments", () => {
  expect(
    EVENT_VALUE.parse("path:1", undefined, "/webhook")!(eventOf("{}", { path: "/webhook" })),
  ).toBeUndefined()
})
