import { expect, test } from "bun:test"
import { Accepted, Dropped, Rejected } from "../../pipeline/outcome.ts"
import { eventOf } from "../../../test/support/event.ts"
import { temporaryFolder } from "../../../test/support/hookline.ts"
import { readPage } from "./listing.ts"
import { LISTINGS } from "./listings.ts"
import { finalOutcome, idReader, indexed, OutcomeFolder, OutcomeWriter } from "./outcome-index.ts"

// answers in the shapes of the senders' documentation, made by hand
const AT = "2026-11-24T10:00:00Z"
const AT_S = 1_795_514_400
test.each<
  [provider: string, answer: unknown, got: readonly (string | undefined)[], next: string | undefined]
>([
  [
    "gitlab-signing-token",
    [
      {
        id: 1,
        request_headers: { "webhook-id": "a", "Idempotency-Key": "a" },
        response_headers: { Date: AT },
        response_status: "200",
      },
      {
        id: 2,
        request_headers: { "Idempotency-Key": "b" },
        response_headers: {},
        response_status: "internal error",
      },
    ],
    ["accepted", "failed"],
    undefined,
  ],
  [
    "stripe",
    {
      object: "list",
      has_more: true,
      data: [
        { id: "evt_a", created: AT_S, pending_webhooks: 0 },
        { id: "evt_b", created: AT_S, pending_webhooks: 1 },
      ],
    },
    ["accepted", "failed"],
    "evt_b",
  ],
  [
    "paypal",
    {
      events: [{ id: "WH-a", create_time: AT }],
      links: [
        { rel: "self", href: "https://x" },
        { rel: "next", href: "https://api-m.paypal.com/next" },
      ],
    },
    [undefined],
    "https://api-m.paypal.com/next",
  ],
  [
    "paddle",
    {
      data: ["delivered", "failed", "needs_retry"].map((status, at) => ({
        id: `ntf_${at}`,
        status,
        occurred_at: AT,
        payload: { event_id: `evt_${at}` },
      })),
      meta: { pagination: { next: "https://api.paddle.com/notifications?after=ntf_2", has_more: false } },
    },
    ["accepted", "failed", "pending"],
    undefined,
  ],
  ["square", { events: [{ event_id: "a", created_at: AT }], cursor: "c" }, [undefined], "c"],
  [
    "chargebee",
    {
      list: ["succeeded", "failed", "scheduled", "not_configured"].map((webhook_status, at) => ({
        event: { id: `ev_${at}`, occurred_at: AT_S, webhooks: [{ id: "whv2", webhook_status }] },
      })),
      next_offset: "[1]",
    },
    ["accepted", "failed", "pending"],
    "[1]",
  ],
  [
    "gocardless",
    {
      webhooks: [true, false].map((successful, at) => ({ id: `WB${at}`, created_at: AT, successful })),
      meta: { cursors: { before: null, after: null }, limit: 50 },
    },
    ["accepted", "failed"],
    undefined,
  ],
  [
    "resend",
    {
      object: "list",
      has_more: true,
      data: ["success", "failed", "pending", "attempting"].map((status, at) => ({
        id: `msg_${at}`,
        type: "email.sent",
        created_at: AT,
        status,
      })),
    },
    ["accepted", "failed", "pending", "pending"],
    "msg_3",
  ],
  [
    "workos",
    { data: [{ id: "event_a", created_at: AT }], list_metadata: { after: "event_a" } },
    [undefined],
    "event_a",
  ],
])("a page of %s says what the sender got, and where the list continues", (provider, answer, got, next) => {
  const page = readPage(LISTINGS[provider]!, Buffer.from(JSON.stringify(answer)), null, 7)
  if (typeof page === "string") throw new Error(page)
  expect(page.items.map((it) => it.got)).toEqual([...got])
  expect(page.items[0]!.atMs).toBe(Date.parse(AT))
  expect(page.next).toBe(next)
})

test.each([
  ["no JSON", "<html>", "its answer is not JSON"],
  ["no list", '{"message":"x"}', "its answer has no list at /data"],
  [
    "an event without an id",
    '{"data":[{"created":1}]}',
    "it lists a delivery without an id or with a wrong time",
  ],
])("an answer that has %s is refused whole", (_, answer, problem) => {
  expect(readPage(LISTINGS["stripe"]!, Buffer.from(answer), null, 7)).toBe(problem)
})

test.each([
  [new Accepted({ partition: 0, offset: 0 }), "accepted"],
  [new Dropped("duplicate", ""), "duplicate"],
  [new Rejected(400, "invalid_json", ""), "refused 400"],
  [new Rejected(429, "rate_limited", ""), undefined],
  [new Rejected(503, "deadline", ""), undefined],
])("%p is final: %p", (outcome, final) => {
  expect(finalOutcome(outcome)).toBe(final)
})

test.each<[string, string, { isVerified?: boolean; failedVerification?: boolean }, readonly string[]]>([
  ["verified", '{"id":"a"}', { isVerified: true }, ["a accepted"]],
  ["not verified", '{"id":"a"}', {}, []],
  ["published although it is forged", '{"id":"a"}', { isVerified: true, failedVerification: true }, []],
  ["with an id of two lines", '{"id":"a\\nb"}', { isVerified: true }, []],
])("what a request that is %s settles", async (_, body, verification, settled) => {
  const found: string[] = []
  const outcome = new Accepted({ partition: 0, offset: 0 })
  const handler = {
    admit: undefined,
    methods: [],
    verifiesSenders: true,
    quickCheck: undefined,
    response: undefined,
    outcomes: [],
    handle: async () => outcome,
  }
  const event = eventOf(body)
  Object.assign(event.request, verification)
  const index = { add: (id: string, final: string) => void found.push(`${id} ${final}`) }
  expect(await indexed(handler, "/id", index).handle(event)).toBe(outcome)
  expect(found).toEqual([...settled])
})

test.each([
  ['{"id":"a"}', "a"],
  ['{"event_version":"1.0","id":"WH-1","resource":{"id":"b"}}', "WH-1"],
  ['{"resource":{"id":"b"},"id":"a"}', "a"],
  ['{"list":["id"],"id":"a"}', "a"],
  ['{"note":"{","id":"a"}', "a"],
  ['{"note":"\\"id\\":\\"b\\"","id":"a"}', "a"],
  ['{"type":"id","id":"a"}', "a"],
  [' { "id" : "a" }', "a"],
  ['{"id":"\\u0061"}', "a"],
  ['{"id":"é"}', "é"],
  ['{"id":7}', "7"],
  [`{"note":"${"x".repeat(505)}","id":"a"}`, "a"],
  [`{"note":"${"x".repeat(600)}","id":"a"}`, "a"],
  ['{"id":""}', undefined],
  ['{"id":"a\\tb"}', undefined],
  ['{"resource":{"id":"b"}}', undefined],
  ['["id","a"]', undefined],
  ["{", undefined],
])("the id of %s for the index is %p", (body, id) => {
  expect(idReader("/id")(Buffer.from(body))).toBe(id)
})

test("what one process indexed, another reads in whole lines", async () => {
  using folder = temporaryFolder()
  const writer = new OutcomeWriter(new OutcomeFolder(folder.path, "x"), 3_600_000, (error) => {
    throw error
  })
  writer.add("a", "accepted")
  writer.add("b", "refused 400")
  await writer.close()
  expect(await Array.fromAsync(new OutcomeFolder(folder.path, "x").read(0))).toEqual([
    "accepted\ta\nrefused 400\tb\n",
  ])
})
