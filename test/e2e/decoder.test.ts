import { createHmac } from "node:crypto"
import { join } from "node:path"
import { describe, expect, test } from "bun:test"
import { sharedByTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { valuesInLog } from "../support/log-values.ts"

const FORM = "application/x-www-form-urlencoded"
const SECRET = "obviously-fake"

const pipeline = (id: string, ...sections: string[]): string =>
  [
    `[pipeline:${id}:WebHookSource]`,
    ...sections.map((section) => section.replace("[", `[pipeline:${id}:`)),
    `[pipeline:${id}:BrokerSink]\ntopic = ${id}\n`,
  ].join("\n")
const SPLIT = "[Decoder]\nlists = split"

const folder = temporaryFolder()
const CONFIGURATION = [
  "[connection:log]\ndirectory = data\n[admin]\nlisten = 127.0.0.1:0",
  pipeline("slack", `[Verifier]\nprovider = slack\nsecret = ${SECRET}`),
  pipeline("grid", `[Verifier]\nprovider = azure-eventgrid\nsecret = ${SECRET}\nquery = code`),
  pipeline("batch", `[Verifier]\nprovider = azure-eventgrid\nsecret = ${SECRET}\nquery = code`),
  pipeline("twilio", `[Verifier]\nprovider = twilio\nsecret = ${SECRET}`),
  pipeline("mailgun", `[Verifier]\nprovider = mailgun\nsecret = ${SECRET}`),
  pipeline("any", "[Decoder]"),
  pipeline("wrapped", "[Decoder]\nlists = wrap"),
  pipeline("split", `${SPLIT}\nmax_list_items = 3`),
  pipeline("by-id", SPLIT, "[Deduplicator]\nkey = json:/id"),
  pipeline("at-once", SPLIT, "[Deduplicator]\nkey = json:/id"),
  pipeline("by-header", SPLIT, "[Deduplicator]\nkey = header:X-Id"),
  pipeline("letters", `[Verifier]\nprovider = token\nheader = X-Token\nsecret = ${SECRET}`, SPLIT).replace(
    "topic = letters",
    "topic = letters\ndead_letter_topic = dead",
  ),
].join("\n")
const running = sharedByTests(() => startHookline(CONFIGURATION, { folder: folder.path }), folder)

const post = (
  id: string,
  body: string | FormData,
  headers: { [name: string]: string } = {},
  query = "",
): Promise<Response> => fetch(running.urls[id]! + query, { method: "POST", body, headers })
const published = async (id: string): Promise<unknown[]> => {
  const values = await valuesInLog(join(folder.path, "data"), id)
  return values.map((value) => {
    const { received_at: _, source: __, ...rest } = JSON.parse(value) as { [name: string]: unknown }
    return rest
  })
}

describe("Slack", () => {
  const send = async (body: string, contentType: string) => {
    const time = String(Math.floor(Date.now() / 1000))
    const signature = createHmac("sha256", SECRET).update(`v0:${time}:${body}`).digest("hex")
    const headers = {
      "Content-Type": contentType,
      "X-Slack-Request-Timestamp": time,
      "X-Slack-Signature": `v0=${signature}`,
    }
    const response = await post("slack", body, headers)
    return [response.status, await response.text()]
  }

  test("a command is an object of its fields, an interaction its payload, an event as it is", async () => {
    expect(await send("token=x&command=%2Fdeploy&text=now+please&trigger_id=1.2", FORM)).toEqual([200, ""])
    const payload = '{"type":"block_actions","actions":[{"value":1.0}]}'
    expect(await send(`payload=${encodeURIComponent(payload)}`, FORM)).toEqual([200, ""])
    expect(await send('{"type":"event_callback" }', "application/json")).toEqual([200, ""])
    const values = await valuesInLog(join(folder.path, "data"), "slack")
    expect(values.map((it) => it.replace(/,"received_at".*/, ""))).toEqual([
      '{"token":"x","command":"/deploy","text":"now please","trigger_id":"1.2"',
      '{"type":"block_actions","actions":[{"value":1.0}]',
      '{"type":"event_callback" ',
    ])
  })

  test("its handshakes are answered", async () => {
    const before = await published("slack")
    expect(await send('{"type":"url_verification","challenge":"c1"}', "application/json")).toEqual([
      200,
      "c1",
    ])
    expect((await post("slack", "ssl_check=1&token=x", { "Content-Type": FORM })).status).toBe(200)
    expect(await published("slack")).toEqual(before)
  })
})

test("Event Grid's validation is answered, and its list is an event for each item", async () => {
  const query = `?code=${SECRET}`
  const data = { validationCode: "c1" }
  const validation = JSON.stringify([{ eventType: "Microsoft.EventGrid.SubscriptionValidationEvent", data }])
  const answer = await post("grid", validation, { "aeg-event-type": "SubscriptionValidation" }, query)
  expect(await answer.json()).toEqual({ validationResponse: "c1" })
  expect((await post("grid", '[{"id":"a"},{"id":"b"}]', {}, query)).status).toBe(200)
  expect(await published("grid")).toEqual([{ id: "a" }, { id: "b" }])
})

test("Event Grid's largest batch, of 5,000 events, is split", async () => {
  const events = Array.from({ length: 5000 }, (_, i) => ({ id: String(i) }))
  expect((await post("batch", JSON.stringify(events), {}, `?code=${SECRET}`)).status).toBe(200)
  expect(await published("batch")).toEqual(events)
})

test("a form whose signed text is cut into JSON stays a form", async () => {
  const signed = `${running.urls["twilio"]}AccountSidAC1Body"}{"evil":true,"x":"From+1555To+1666`
  const signature = createHmac("sha1", SECRET).update(signed).digest("base64")
  const headers = { "Content-Type": FORM, "X-Twilio-Signature": signature }
  expect(
    (
      await post(
        "twilio",
        new URLSearchParams({
          AccountSid: "AC1",
          Body: '"}{"evil":true,"x":"',
          From: "+1555",
          To: "+1666",
        }).toString(),
        headers,
      )
    ).status,
  ).toBe(200)
  const recut = '{"evil":true,"x":"From%2B1555To%2B1666&AccountSidAC1Body"}'
  expect((await post("twilio", recut, headers)).status).toBe(200)
  expect(await published("twilio")).toEqual([
    { AccountSid: "AC1", Body: '"}{"evil":true,"x":"', From: "+1555", To: "+1666" },
    { '{"evil":true,"x":"From+1555To+1666': "", 'AccountSidAC1Body"}': "" },
  ])
})

test("a multipart form that a browser or Python would send arrives with its files", async () => {
  const form = new FormData()
  form.append("subject", "Hé")
  form.append("attachment", new Blob([Uint8Array.of(0, 255)], { type: "image/png" }), "a.png")
  expect((await post("any", form)).status).toBe(200)
  expect((await post("any", "line 1\nline 2", { "Content-Type": "text/plain" })).status).toBe(200)
  expect(await published("any")).toEqual([
    { subject: "Hé", attachment: { filename: "a.png", content_type: "image/png", base64: "AP8=" } },
    { text: "line 1\nline 2" },
  ])
  expect((await post("any", "[{}]")).status).toBe(400)
})

test("a message that a route of Mailgun's forwards is verified and decoded, with and without attachments", async () => {
  const now = String(Math.floor(Date.now() / 1000))
  const fields = (token: string): [string, string][] => [
    ["sender", "a@example.com"],
    ["timestamp", now],
    ["token", token],
    [
      "signature",
      createHmac("sha256", SECRET)
        .update(now + token)
        .digest("hex"),
    ],
  ]
  const form = new FormData()
  for (const [name, value] of fields("t1")) form.append(name, value)
  form.append("attachment-1", new Blob(["x"], { type: "text/x" }), "a.txt")
  const statuses = [
    await post("mailgun", form),
    await post("mailgun", new URLSearchParams(fields("t2")).toString(), { "Content-Type": FORM }),
    // the token is accepted once, with one body
    await post("mailgun", new URLSearchParams([...fields("t2"), ["evil", "1"]]).toString(), {
      "Content-Type": FORM,
    }),
    await post("mailgun", new URLSearchParams([...fields("t3"), ["token", "t2"]]).toString(), {
      "Content-Type": FORM,
    }),
    await post("mailgun", "sender=a", { "Content-Type": FORM }),
  ].map(({ status }) => status)
  expect(statuses).toEqual([200, 200, 401, 400, 401])
  expect(await published("mailgun")).toEqual([
    {
      ...Object.fromEntries(fields("t1")),
      "attachment-1": { filename: "a.txt", content_type: "text/x", base64: "eA==" },
    },
    Object.fromEntries(fields("t2")),
  ])
})

test("a list that is wrapped is one record", async () => {
  expect((await post("wrapped", '[1,{"a":2}]')).status).toBe(200)
  expect(await published("wrapped")).toEqual([{ items: [1, { a: 2 }] }])
})

test("an item that is no object refuses the list with its index, and nothing is published", async () => {
  const refused = await post("split", '[{"a":1},[],{"a":2}]')
  expect([refused.status, await refused.json()]).toEqual([
    400,
    expect.objectContaining({
      detail: "Item 1 of the list: The body is not a JSON object: expected { at byte 0.",
    }),
  ])
  expect((await post("split", "[{},{},{},{}]")).status).toBe(413)
  expect((await post("split", "[]")).status).toBe(200)
  expect(await published("split")).toEqual([])
  expect((await post("split", '[{"a":1},{"a":2}]')).status).toBe(200)
  expect((await post("split", '{"a":3}')).status).toBe(200)
  expect(await published("split")).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }])
  const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text()
  expect(metrics).toContain('hookline_list_items_total{pipeline="split",outcome="accepted",reason=""} 2')
  expect(metrics).toContain('hookline_events_total{pipeline="split",outcome="dropped",reason="empty_list"} 1')
})

describe("duplicates", () => {
  test("within a list, and in later lists, are published once", async () => {
    expect((await post("by-id", '[{"id":1},{"id":2},{"id":1},{"x":0}]')).status).toBe(200)
    expect((await post("by-id", '[{"id":2},{"id":3}]')).status).toBe(200)
    expect((await post("by-id", '{"id":3}')).status).toBe(200)
    expect(await published("by-id")).toEqual([{ id: 1 }, { id: 2 }, { x: 0 }, { id: 3 }])
  })

  test("in lists at the same time are published once", async () => {
    const list = JSON.stringify(Array.from({ length: 50 }, (_, i) => ({ id: `same-${i}` })))
    const statuses = await Promise.all(
      Array.from({ length: 8 }, async () => (await post("at-once", list)).status),
    )
    expect(statuses).toEqual(Array(8).fill(200))
    expect(await published("at-once")).toEqual(JSON.parse(list))
  })

  test("by a header are those of the same list, item by item", async () => {
    const headers = { "X-Id": "delivery-1" }
    for (let i = 0; i < 2; i++)
      expect((await post("by-header", '[{"a":1},{"a":2}]', headers)).status).toBe(200)
    expect(await published("by-header")).toEqual([{ a: 1 }, { a: 2 }])
  })
})

test("the dead letter of a list is the body as received, once", async () => {
  const body = '[{"a":1}, [], 2 ]'
  expect((await post("letters", body, { "X-Token": SECRET })).status).toBe(400)
  expect(await valuesInLog(join(folder.path, "data"), "dead")).toEqual([body])
  expect(await published("letters")).toEqual([])
})
