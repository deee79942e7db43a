import { describe, expect, test } from "bun:test"
import { createHash, createHmac } from "node:crypto"
import { join } from "node:path"
import { verifier } from "../../src/components/verifier.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { startVerified } from "../support/verified.ts"

const KEY = "key-of-the-account-1234"
const mac = (
  algorithm: "sha1" | "sha256",
  key: string | Uint8Array,
  text: string,
  encoding: "hex" | "base64",
) => createHmac(algorithm, key).update(text).digest(encoding)
const post = (url: string, body: string, headers: { [name: string]: string } = {}): Promise<Response> =>
  fetch(url, { method: "POST", body, headers })

describe("a form's signature, whose text is cut into other pairs", () => {
  const FORM = "application/x-www-form-urlencoded"
  const PUBLIC = "https://hooks.example.com/in?team=1"
  /** What Twilio and Mandrill sign, here of parameters in the order of their names. */
  const signature = (url: string, parameters: { [name: string]: string }): string =>
    mac("sha1", KEY, url + Object.entries(parameters).flat().join(""), "base64")
  // a stranger writes the text of the message; who sees one signed request has its signature
  const TEXT = '"}{"evil":true,"x":"'
  const sms = { AccountSid: "AC1", Body: TEXT, From: "+1555", To: "+1666" }
  const RECUT = '{"evil":true,"x":"From%2B1555To%2B1666&AccountSidAC1Body"}'
  const start = (path: string, provider: string) =>
    startVerified(
      path,
      { a: verifier({ provider, secret: [KEY] }) },
      { publicUrl: PUBLIC.replace(/\?.*/, "") },
    )

  test.each([
    ["twilio", "X-Twilio-Signature"],
    ["mandrill", "X-Mandrill-Signature"],
  ])("%s: is never JSON, however right the signature is", async (provider, header) => {
    using folder = temporaryFolder()
    await using it = await start(folder.path, provider)
    expect(JSON.parse(RECUT)).toHaveProperty("evil", true)
    const url = `${it.origin("a")}/in?team=1`
    const headers = { [header]: signature(PUBLIC, sms), "Content-Type": FORM }
    const genuine = await post(url, new URLSearchParams(sms).toString(), headers)
    const recut = await post(url, RECUT, headers)
    expect([genuine.status, recut.status]).toEqual([400, 400])
    for (const answer of [genuine, recut])
      expect(await answer.json()).toMatchObject({ detail: "The body is a form, and must be a JSON object." })
    expect((await post(url, RECUT, { ...headers, "Content-Type": "application/json" })).status).toBe(401)
    expect(await it.published("a")).toEqual([])
  })

  test("twilio: a bodySHA256 in the middle of the text is a piece of a parameter", async () => {
    using folder = temporaryFolder()
    await using it = await start(folder.path, "twilio")
    const body = '{"evil":true}'
    const hash = createHash("sha256").update(body).digest("hex")
    const message = { ...sms, Body: `&bodySHA256=${hash}&` }
    // one URL of all that was signed: the hash would vouch for any body
    const query = `?team=1${Object.entries(message).flat().join("")}`
    const headers = { "X-Twilio-Signature": signature(PUBLIC, message), "Content-Type": "application/json" }
    expect((await post(`${it.origin("a")}/in${query}`, body, headers)).status).toBe(401)
    expect(await it.published("a")).toEqual([])
  })

  test("twilio: JSON whose hash is the URL's last parameter is published", async () => {
    using folder = temporaryFolder()
    await using it = await start(folder.path, "twilio")
    const body = '{"fine":true}'
    const query = `?team=1&bodySHA256=${createHash("sha256").update(body).digest("hex")}`
    const headers = { "X-Twilio-Signature": signature(PUBLIC.replace("?team=1", query), {}) }
    expect((await post(`${it.origin("a")}/in${query}`, body, headers)).status).toBe(200)
    expect(await it.published("a")).toHaveLength(1)
  })
})

describe("a member name that occurs twice is refused with 400 where members are read to verify", () => {
  const now = String(Math.floor(Date.now() / 1000))
  const mailgunParts = `"timestamp":"${now}","token":"t","signature":"${mac("sha256", KEY, `${now}t`, "hex")}"`
  const HEX = "00112233445566778899aabbccddeeff"
  const adyenSignature = mac(
    "sha256",
    Buffer.from(HEX, "hex"),
    "7914::Shop:order:1130:EUR:AUTHORISATION:true",
    "base64",
  )
  const adyenItem = `"pspReference":"7914","merchantAccountCode":"Shop","merchantReference":"order","amount":{"value":1130,"currency":"EUR"},"eventCode":"AUTHORISATION","success":"true","additionalData":{"hmacSignature":"${adyenSignature}"}`
  const adyen = (item: string): string => `{"notificationItems":[{"NotificationRequestItem":{${item}}}]}`
  const linear = (more: string): string => `{"webhookTimestamp":${Date.now()}${more}}`

  test.each([
    [
      "mailgun: what is not signed",
      { provider: "mailgun", secret: [KEY] },
      `{"signature":{${mailgunParts}},"event-data":{"a":1,"a":2}}`,
      `{"signature":{${mailgunParts}},"event-data":{"a":1}}`,
    ],
    [
      "mailgun: the signature",
      { provider: "mailgun", secret: [KEY] },
      `{"signature":{},"signature":{${mailgunParts}}}`,
      `{"signature":{${mailgunParts}}}`,
    ],
    [
      "adyen: a signed field",
      { provider: "adyen", secret: [HEX] },
      adyen(`"success":"false",${adyenItem}`),
      adyen(adyenItem),
    ],
    [
      "adyen: by an escape",
      { provider: "adyen", secret: [HEX] },
      adyen(`"succ\\u0065ss":"false",${adyenItem}`),
      adyen(adyenItem),
    ],
    [
      "adyen: the amount",
      { provider: "adyen", secret: [HEX] },
      adyen(adyenItem.replace('"value":1130', '"value":9,"value":1130')),
      adyen(adyenItem),
    ],
    [
      "ms-graph: the list",
      { provider: "ms-graph", secret: [KEY] },
      `{"value":[{"evil":true}],"value":[{"clientState":"${KEY}"}]}`,
      `{"value":[{"clientState":"${KEY}"}]}`,
    ],
    [
      "ms-graph: the state",
      { provider: "ms-graph", secret: [KEY] },
      `{"value":[{"clientState":"x","clientState":"${KEY}"}]}`,
      `{"value":[{"clientState":"${KEY}"}]}`,
    ],
  ] as const)("%s", async (_name, settings, twice, once) => {
    using folder = temporaryFolder()
    await using it = await startVerified(folder.path, { a: verifier(settings) })
    const url = `${it.origin("a")}/in`
    const refused = await post(url, twice)
    expect([refused.status, await refused.json()]).toEqual([
      400,
      expect.objectContaining({ detail: "The body has a duplicate member name." }),
    ])
    expect(await it.published("a")).toEqual([])
    expect((await post(url, once)).status).toBe(200)
    expect(await it.published("a")).toHaveLength(1)
  })

  test("linear: the time, even where it is signed", async () => {
    using folder = temporaryFolder()
    await using it = await startVerified(folder.path, { a: verifier({ provider: "linear", secret: [KEY] }) })
    const send = (body: string) =>
      post(`${it.origin("a")}/in`, body, { "Linear-Signature": mac("sha256", KEY, body, "hex") })
    expect((await send(linear(',"webhookTimestamp":1'))).status).toBe(400)
    expect((await send(linear(""))).status).toBe(200)
  })

  test("where a schema checks it, at any depth, with the byte where it is; without a schema it passes as it came", async () => {
    using folder = temporaryFolder()
    await Bun.write(
      join(folder.path, "schema.json"),
      JSON.stringify({ properties: { amount: { maximum: 10 } } }),
    )
    const pipeline = (id: string, validator: string): string =>
      `[pipeline:${id}:WebHookSource]\n[pipeline:${id}:Validator]\n${validator}\n[pipeline:${id}:BrokerSink]\ntopic = t\n`
    await using running = await startHookline(
      `[connection:log]\ndirectory = data\n${pipeline("checked", "schema = schema.json")}${pipeline("plain", "on_invalid = reject")}`,
      { folder: folder.path },
    )
    const refused = await post(running.urls["checked"]!, '{"amount":99,"amount":1}')
    expect([refused.status, await refused.json()]).toEqual([
      400,
      expect.objectContaining({
        detail: "The body has a duplicate member name at byte 13: consumers may read the other value.",
      }),
    ])
    expect((await post(running.urls["checked"]!, '{"a":[{"b":1,"\\u0062":1}]}')).status).toBe(400)
    expect((await post(running.urls["checked"]!, '{"amount":1,"a":[{"b":1},{"b":1}]}')).status).toBe(200)
    expect((await post(running.urls["plain"]!, '{"amount":99,"amount":1}')).status).toBe(200)
    await running.stop()
    expect(running.log.find(({ msg }) => msg === "event rejected")).toMatchObject({
      reason: "duplicate_member",
    })
  })
})
