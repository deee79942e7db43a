import { describe, expect, test } from "bun:test"
import { createHmac, createSign, generateKeyPairSync, sign } from "node:crypto"
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { verifierStep } from "../../src/components/verifier/step.ts"
import { verifier } from "../../src/components/verifier.ts"
import { makeCertificate } from "../support/certificate.ts"
import { componentContext } from "../support/component-context.ts"
import { sharedByTests, temporaryFolder } from "../support/hookline.ts"
import { inCode } from "../support/in-code.ts"
import { startVerified } from "../support/verified.ts"
import { newRsaKey } from "../support/rsa-keys.ts"

const SECRET = "example-not-a-secret"
const mac = (text: string, encoding: "hex" | "base64", key = SECRET): string =>
  createHmac("sha256", key).update(text).digest(encoding)
const seconds = (): string => String(Math.floor(Date.now() / 1000))
const discordKey = generateKeyPairSync("ed25519")
const discordPublicKey = Buffer.from(discordKey.publicKey.export({ format: "jwk" }).x!, "base64url").toString(
  "hex",
)

// ---- how each provider signs the handshakes that it signs
const slack = (body: string) => {
  const time = seconds()
  return {
    "X-Slack-Request-Timestamp": time,
    "X-Slack-Signature": `v0=${mac(`v0:${time}:${body}`, "hex")}`,
  }
}
const zoom = (body: string) => {
  const time = seconds()
  return { "x-zm-request-timestamp": time, "x-zm-signature": `v0=${mac(`v0:${time}:${body}`, "hex")}` }
}
const twitch = (body: string) => {
  const time = new Date().toISOString()
  return {
    "Twitch-Eventsub-Message-Id": "msg-1",
    "Twitch-Eventsub-Message-Type": "webhook_callback_verification",
    "Twitch-Eventsub-Message-Timestamp": time,
    "Twitch-Eventsub-Message-Signature": `sha256=${mac(`msg-1${time}${body}`, "hex")}`,
  }
}
const discord = (body: string) => {
  const time = seconds()
  return {
    "X-Signature-Timestamp": time,
    "X-Signature-Ed25519": sign(null, Buffer.from(time + body), discordKey.privateKey).toString("hex"),
  }
}
const xero = (body: string) => ({ "x-xero-signature": mac(body, "base64") })

const front = (body: string) => {
  const time = String(Date.now())
  return {
    "X-Front-Challenge": "cmp-4f8a",
    "X-Front-Request-Timestamp": time,
    "X-Front-Signature": mac(`${time}:${body}`, "base64"),
  }
}

interface Case {
  readonly name: string
  readonly provider: string
  readonly method?: string
  readonly query?: string
  readonly headers?: { readonly [name: string]: string } | ((body: string) => { [name: string]: string })
  readonly body?: string
  readonly answer: {
    readonly status: number
    readonly body?: string
    readonly headers?: { readonly [name: string]: string }
  }
  /** Whether the provider signs it, so that without its headers it is refused. */
  readonly isSigned?: boolean
}

const FORM = { "Content-Type": "application/x-www-form-urlencoded" }
const PLAIN = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" }
const JSON_TYPE = { "content-type": "application/json" }
const VALIDATION = JSON.stringify([
  {
    id: "2d1781af-3a4c-4d7c-bd0c-e34b19da4e66",
    topic: "/subscriptions/0000",
    subject: "",
    data: { validationCode: "512d38b6-c7b8-40c8-89fe-f46f9e9622b6", validationUrl: "https://example.com/" },
    eventType: "Microsoft.EventGrid.SubscriptionValidationEvent",
    eventTime: "2018-01-25T22:12:19.4556811Z",
    metadataVersion: "1",
    dataVersion: "1",
  },
])

const CASES: readonly Case[] = [
  {
    name: "Slack's url_verification gets the challenge back",
    provider: "slack",
    headers: slack,
    body: '{"token":"Jhj5dZrVaK7ZwHHjRyZWjbDl","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}',
    answer: {
      status: 200,
      body: "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P",
      headers: PLAIN,
    },
    isSigned: true,
  },
  {
    name: "Slack's ssl_check gets 200",
    provider: "slack",
    headers: FORM,
    body: "token=Jhj5dZrVaK7ZwHHjRyZWjbDl&ssl_check=1",
    answer: { status: 200, body: "" },
  },
  {
    name: "an ssl_check of a thousand fields more is none: anyone may send it",
    provider: "slack",
    headers: FORM,
    body: `${"a=1&".repeat(1000)}ssl_check=1`,
    answer: { status: 401 },
  },
  {
    name: "Meta gets its challenge for the verify token",
    provider: "meta",
    method: "GET",
    query: "?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=meatyhamhock",
    answer: { status: 200, body: "1158201444", headers: PLAIN },
  },
  {
    name: "Meta's challenge with another verify token gets 403",
    provider: "meta",
    method: "GET",
    query: "?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=meatyhamhocks",
    answer: { status: 403 },
  },
  {
    name: "X's crc_token is signed",
    provider: "x-twitter",
    method: "GET",
    query: "?crc_token=NDQ2ZWUzMjEtNTYyZS00&nonce=MTIz",
    answer: {
      status: 200,
      body: `{"response_token":"sha256=${mac("NDQ2ZWUzMjEtNTYyZS00", "base64")}"}`,
      headers: JSON_TYPE,
    },
  },
  {
    name: "X's crc_token that could be the body of an event is not signed",
    provider: "x-twitter",
    method: "GET",
    query: `?crc_token=${encodeURIComponent('{"forged":1}')}`,
    answer: { status: 405 },
  },
  {
    name: "Zoom's plainToken is signed, by the secret that signed the request",
    provider: "zoom",
    headers: zoom,
    body: '{"payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"},"event_ts":1654503849680,"event":"endpoint.url_validation"}',
    answer: {
      status: 200,
      body: `{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"${mac("qgg8vlvZRS6UYooatFL8Aw", "hex")}"}`,
      headers: JSON_TYPE,
    },
    isSigned: true,
  },
  {
    name: "Dropbox gets its challenge, not as HTML",
    provider: "dropbox",
    method: "GET",
    query: "?challenge=%3Cb%3Eabc123",
    answer: { status: 200, body: "<b>abc123", headers: PLAIN },
  },
  {
    name: "LinkedIn's challengeCode is signed",
    provider: "linkedin",
    method: "GET",
    query: "?challengeCode=890e4665-4dfe-4ab1-b689-ed553bceeed0",
    answer: {
      status: 200,
      body: `{"challengeCode":"890e4665-4dfe-4ab1-b689-ed553bceeed0","challengeResponse":"${mac("890e4665-4dfe-4ab1-b689-ed553bceeed0", "hex")}"}`,
      headers: JSON_TYPE,
    },
  },
  {
    name: "LinkedIn's challengeCode that could be the body of an event is not signed",
    provider: "linkedin",
    method: "GET",
    query: `?challengeCode=${encodeURIComponent('hmacsha256={"forged":1}')}`,
    answer: { status: 405 },
  },
  {
    name: "Front's challenge is echoed as JSON",
    provider: "front",
    headers: front,
    body: '{"type":"sync","authorization":{"id":"cmp_abc"}}',
    answer: { status: 200, body: '{"challenge":"cmp-4f8a"}', headers: JSON_TYPE },
    isSigned: true,
  },
  {
    name: "monday.com's challenge is echoed as JSON",
    provider: "monday",
    body: '{"challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}',
    answer: {
      status: 200,
      body: '{"challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}',
      headers: JSON_TYPE,
    },
  },
  {
    name: "a challenge next to another member is no handshake of monday.com's",
    provider: "monday",
    body: '{"challenge":"3eZbrw1aBm2rZgRN","event":{}}',
    answer: { status: 401 },
  },
  {
    name: "Mailchimp's GET gets 200",
    provider: "mailchimp",
    method: "GET",
    answer: { status: 200, body: "" },
  },
  { name: "Mailchimp's HEAD gets 200", provider: "mailchimp", method: "HEAD", answer: { status: 200 } },
  {
    name: "Okta gets its verification as JSON",
    provider: "okta",
    method: "GET",
    headers: { "x-okta-verification-challenge": "hM2XZc0Tq0DHs8Qd" },
    answer: { status: 200, body: '{"verification":"hM2XZc0Tq0DHs8Qd"}', headers: JSON_TYPE },
  },
  {
    name: "Twitch gets its challenge",
    provider: "twitch",
    headers: twitch,
    body: '{"challenge":"pogchamp-kappa-360noscope-vohiyo","subscription":{"id":"f1c2a387","status":"webhook_callback_verification_pending"}}',
    answer: { status: 200, body: "pogchamp-kappa-360noscope-vohiyo", headers: PLAIN },
    isSigned: true,
  },
  {
    name: "Discord's PING of interactions gets a PONG",
    provider: "discord",
    headers: discord,
    body: '{"app_permissions":"562949953601536","application_id":"1","id":"2","token":"t","type":1,"version":1}',
    answer: { status: 200, body: '{"type":1}', headers: JSON_TYPE },
    isSigned: true,
  },
  {
    name: "Discord's PING of webhook events gets 204",
    provider: "discord",
    headers: discord,
    body: '{"version":1,"application_id":"1234560123453231555","type":0}',
    answer: { status: 204, body: "", headers: JSON_TYPE },
    isSigned: true,
  },
  {
    name: "Microsoft Graph gets its validationToken, decoded",
    provider: "ms-graph",
    query: "?validationToken=Validation%3A+Testing+client+%3Cb%3E",
    headers: { "Content-Type": "text/plain; charset=utf-8" },
    answer: { status: 200, body: "Validation: Testing client <b>", headers: PLAIN },
  },
  {
    name: "Event Grid's validation event gets its code",
    provider: "azure-eventgrid",
    query: `?code=${SECRET}`,
    headers: { "aeg-event-type": "SubscriptionValidation", "Content-Type": "application/json" },
    body: VALIDATION,
    answer: {
      status: 200,
      body: '{"validationResponse":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}',
      headers: JSON_TYPE,
    },
  },
  {
    name: "Event Grid's validation event with another secret gets 401",
    provider: "azure-eventgrid",
    query: "?code=another",
    headers: { "aeg-event-type": "SubscriptionValidation" },
    body: VALIDATION,
    answer: { status: 401 },
  },
  {
    name: "Event Grid may send CloudEvents",
    provider: "azure-eventgrid",
    method: "OPTIONS",
    headers: { "WebHook-Request-Origin": "eventgrid.azure.net", "WebHook-Request-Rate": "120" },
    answer: {
      status: 200,
      headers: { "webhook-allowed-origin": "eventgrid.azure.net", "webhook-allowed-rate": "*" },
    },
  },
  {
    name: "another origin may not send CloudEvents",
    provider: "azure-eventgrid",
    method: "OPTIONS",
    headers: { "WebHook-Request-Origin": "sender.example" },
    answer: { status: 403 },
  },
  { name: "Trello's HEAD gets 200", provider: "trello", method: "HEAD", answer: { status: 200 } },
  { name: "Mandrill's HEAD gets 200", provider: "mandrill", method: "HEAD", answer: { status: 200 } },
  { name: "Intercom's HEAD gets 200", provider: "intercom", method: "HEAD", answer: { status: 200 } },
  {
    name: "WooCommerce's ping gets 200",
    provider: "woocommerce",
    headers: FORM,
    body: "webhook_id=42",
    answer: { status: 200, body: "" },
  },
  {
    name: "Xero's intent to receive gets 200 and nothing else",
    provider: "xero",
    headers: xero,
    body: '{"events":[],"lastEventSequence":0,"firstEventSequence":0,"entropy":"S0m3r4Nd0mt3xt"}',
    answer: { status: 200, body: "" },
    isSigned: true,
  },
  {
    name: "Xero's intent to receive that is wrongly signed gets 401 and no body",
    provider: "xero",
    headers: { "x-xero-signature": mac("something else", "base64") },
    body: '{"events":[],"lastEventSequence":0,"firstEventSequence":0,"entropy":"S0m3r4Nd0mt3xt"}',
    answer: { status: 401, body: "" },
  },
]

const SETTINGS: { readonly [provider: string]: object } = {
  zoom: { secret: ["another-secret", SECRET] },
  meta: { secret: [SECRET], verify_token: ["meatyhamhock"] },
  discord: { public_key: [discordPublicKey] },
  "azure-eventgrid": { secret: [SECRET], query: "code" },
  mailchimp: { secret: [SECRET], query: "key" },
}
const PROVIDERS = [...new Set(CASES.map(({ provider }) => provider)), "adyen", "github"]

const folder = temporaryFolder()
const running = sharedByTests(() => {
  const steps = PROVIDERS.map((provider) => {
    const secret = provider === "adyen" ? ["44782DEF547AAA06"] : [SECRET]
    return [provider, verifier({ provider, ...inCode(SETTINGS[provider] ?? { secret }) })] as const
  })
  return startVerified(join(folder.path, "log"), Object.fromEntries(steps))
}, folder)

describe.each(CASES)(
  "$name",
  ({ provider, method = "POST", query = "", headers, body, answer, isSigned }) => {
    const ask = (given: { readonly [name: string]: string }): Promise<Response> =>
      fetch(`${running.origin(provider)}/in${query}`, {
        method,
        headers: given,
        ...(body === undefined ? {} : { body }),
      })

    test("and nothing is published", async () => {
      const before = await running.published(provider)
      const got = await ask(typeof headers === "function" ? headers(body ?? "") : (headers ?? {}))
      expect(got.status).toBe(answer.status)
      if (answer.body !== undefined) expect(await got.text()).toBe(answer.body)
      for (const [name, value] of Object.entries(answer.headers ?? {}))
        expect([name, got.headers.get(name)]).toEqual([name, value])
      expect(await running.published(provider)).toEqual(before)
    })

    if (isSigned === true) {
      test("but not without its signature", async () => {
        expect((await ask({})).status).toBe(401)
      })
    }
  },
)

test.each([
  ["meta", "GET", "POST, GET, HEAD"],
  ["trello", "GET", "POST, HEAD"],
  ["trello", "PUT", "POST, HEAD"],
  ["intercom", "GET", "POST, HEAD"],
  ["azure-eventgrid", "OPTIONS", "POST, OPTIONS, HEAD"],
  ["github", "GET", "POST, HEAD"],
  ["github", "OPTIONS", "POST, HEAD"],
])("%s: %s that is no handshake gets 405, with Allow: %s", async (provider, method, allow) => {
  const answer = await fetch(`${running.origin(provider)}/in`, { method })
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow])
})

test("Meta's challenge is not answered to who has the app secret, where verify_token is not set", async () => {
  await using it = await startVerified(join(folder.path, "meta"), {
    a: verifier({ provider: "meta", secret: [SECRET] }),
  })
  const query = `?hub.mode=subscribe&hub.challenge=1&hub.verify_token=${encodeURIComponent(SECRET)}`
  expect((await fetch(`${it.origin("a")}/in${query}`)).status).toBe(403)
})

test("Discord's events, of which type 1 is no PING, are published", async () => {
  const body = '{"version":1,"application_id":"1","type":1,"event":{"type":"APPLICATION_AUTHORIZED"}}'
  const url = `${running.origin("discord")}/in`
  const before = await running.published("discord")
  expect((await fetch(url, { method: "POST", body, headers: discord(body) })).status).toBe(200)
  expect(await running.published("discord")).toHaveLength(before.length + 1)
})

test("an event that mentions a handshake is published all the same", async () => {
  const body = '{"type":"event_callback","challenge":"c","event":{"text":"url_verification"}}'
  const url = `${running.origin("slack")}/in`
  const before = await running.published("slack")
  expect((await fetch(url, { method: "POST", body, headers: slack(body) })).status).toBe(200)
  expect(await running.published("slack")).toHaveLength(before.length + 1)
})

test("Adyen's events are answered [accepted]", async () => {
  const body = '{"type":"merchant.created"}'
  const HmacSignature = createHmac("sha256", Buffer.from("44782DEF547AAA06", "hex"))
    .update(body)
    .digest("base64")
  const url = `${running.origin("adyen")}/in`
  const answer = await fetch(url, { method: "POST", body, headers: { HmacSignature } })
  expect([answer.status, await answer.text()]).toEqual([200, "[accepted]"])
  expect(await running.published("adyen")).toHaveLength(1)
})

describe("a secret that the provider sends", () => {
  const FIRST = "b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81"
  const start = (name: string, provider: string, secretCount = 1) =>
    startVerified(join(folder.path, name), {
      [provider]: verifier({ provider, secretFile: join(folder.path, `${name}.secret`), secretCount }),
    })

  test("Asana's is kept in secret_file, answered once, and verifies what follows, after a restart too", async () => {
    const event = '{"events":[{"action":"changed"}]}'
    const signed = { "X-Hook-Signature": mac(event, "hex", FIRST) }
    {
      await using it = await start("asana", "asana")
      const post = (body: string, headers: { [name: string]: string }): Promise<Response> =>
        fetch(`${it.origin("asana")}/in`, { method: "POST", body, headers })
      expect((await post(event, signed)).status).toBe(401)
      const answer = await post("{}", { "X-Hook-Secret": FIRST })
      expect([answer.status, answer.headers.get("x-hook-secret")]).toEqual([200, FIRST])
      expect((await post("{}", { "X-Hook-Secret": "0".repeat(64) })).status).toBe(401)
      expect((await post(event, signed)).status).toBe(200)
      expect(await it.published("asana")).toHaveLength(1)
    }
    const file = join(folder.path, "asana.secret")
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual([`${FIRST}\n`, 0o600])
    await using again = await start("asana", "asana")
    const url = `${again.origin("asana")}/in`
    expect((await fetch(url, { method: "POST", body: event, headers: signed })).status).toBe(200)
  })

  test("Asana's are kept for as many webhooks as secret_count says, and verify each, after a restart too", async () => {
    const secrets = [FIRST, "1".repeat(64), "2".repeat(64)]
    const posted = (url: string, secret: string): Promise<number> =>
      fetch(url, {
        method: "POST",
        body: '{"events":[]}',
        headers: { "X-Hook-Signature": mac('{"events":[]}', "hex", secret) },
      }).then(({ status }) => status)
    const handshake = (url: string, secret: string): Promise<number> =>
      fetch(url, { method: "POST", body: "{}", headers: { "X-Hook-Secret": secret } }).then(
        ({ status }) => status,
      )
    {
      await using it = await start("asana-two", "asana", 2)
      const url = `${it.origin("asana")}/in`
      expect(await handshake(url, secrets[0]!)).toBe(200)
      expect(await handshake(url, secrets[0]!)).toBe(401)
      expect(await handshake(url, secrets[1]!)).toBe(200)
      expect(await handshake(url, secrets[2]!)).toBe(401)
      for (const [i, status] of [200, 200, 401].entries()) expect(await posted(url, secrets[i]!)).toBe(status)
    }
    const file = join(folder.path, "asana-two.secret")
    expect([readFileSync(file, "utf8"), readFileSync(`${file}.2`, "utf8")]).toEqual([
      `${secrets[0]}\n`,
      `${secrets[1]}\n`,
    ])
    await using again = await start("asana-two", "asana", 2)
    const url = `${again.origin("asana")}/in`
    for (const [i, status] of [200, 200, 401].entries()) expect(await posted(url, secrets[i]!)).toBe(status)
  })

  test("Notion's verification_token is kept in secret_file, once", async () => {
    await using it = await start("notion", "notion")
    const post = (body: string, headers: { [name: string]: string } = {}): Promise<Response> =>
      fetch(`${it.origin("notion")}/in`, { method: "POST", body, headers })
    const token = "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl"
    expect((await post(`{"verification_token":"${token}"}`)).status).toBe(200)
    expect((await post('{"verification_token":"secret_of_somebody_else"}')).status).toBe(401)
    expect(await it.published("notion")).toEqual([])
    const event = '{"type":"page.created"}'
    const signed = { "X-Notion-Signature": `sha256=${mac(event, "hex", token)}` }
    expect((await post(event, signed)).status).toBe(200)
    expect(await it.published("notion")).toHaveLength(1)
  })
})

describe("Amazon SNS's SubscriptionConfirmation", () => {
  const TopicArn = "arn:aws:sns:eu-west-1:1:orders"
  const CERTIFICATE_URL =
    "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem"
  const root = makeCertificate("Test Authority", { isCa: true, nowMs: Date.now() })
  const certificate = makeCertificate("sns.amazonaws.com", { issuer: root, nowMs: Date.now() })
  const confirmation = (SubscribeURL: string, key = certificate.privateKey): string => {
    const signed = {
      Message: "You have chosen to subscribe",
      MessageId: "1f2e3d4c-5b6a-4798-8796-a5b4c3d2e1f0",
      SubscribeURL,
      Timestamp: new Date().toISOString(),
      Token: "2336412f37",
      TopicArn,
      Type: "SubscriptionConfirmation",
    }
    const text = Object.entries(signed)
      .map(([name, value]) => `${name}\n${value}\n`)
      .join("")
    const Signature = createSign("sha256").update(text).sign(key, "base64")
    return JSON.stringify({ ...signed, SignatureVersion: "2", Signature, SigningCertURL: CERTIFICATE_URL })
  }
  const AMAZON = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37"

  test.each([
    ["is visited with confirm = true", "true", AMAZON, 200, [AMAZON]],
    ["is not visited without", "false", AMAZON, 200, []],
    ["is not visited elsewhere than at Amazon's hosts", "true", "https://sns.example.com/?Token=1", 403, []],
    ["is not visited without TLS", "true", AMAZON.replace("https", "http"), 403, []],
  ] as const)("%s", async (name, confirm, url, status, expected) => {
    const visited: string[] = []
    const outside = {
      rootCertificates: [root.pem],
      fetch: (it: string) => {
        if (it === CERTIFICATE_URL) return Promise.resolve(new Response(certificate.pem))
        visited.push(it)
        return Promise.resolve(new Response("<ConfirmSubscriptionResponse/>"))
      },
    }
    const context = componentContext({ pipeline: "sns" })
    const values = { provider: "aws-sns", mode: "enforce", topic_arn: TopicArn, confirm }
    const step = verifierStep(values as Parameters<typeof verifierStep>[0], context, { fetcher: outside })
    await using it = await startVerified(join(folder.path, name), { sns: step })
    const post = (body: string): Promise<Response> =>
      fetch(`${it.origin("sns")}/in`, { method: "POST", body })
    const forged = confirmation(url, newRsaKey().privateKey)
    expect((await post(forged)).status).toBe(401)
    expect(visited).toEqual([])
    expect((await post(confirmation(url))).status).toBe(status)
    expect(visited).toEqual([...expected])
    expect(await it.published("sns")).toEqual([])
  })
})
