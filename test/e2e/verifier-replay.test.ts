import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import {
  Application,
  brokerSink,
  deduplicator,
  embeddedConnection,
  Pipeline,
  Rejected,
  validator,
  verifier,
  webHookSource,
  type PipelineParts,
} from "../../src/index.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import { valuesInLog } from "../support/log-values.ts"
import { hasRedis, startRedis } from "../support/redis.ts"
import { keyOfSecret, standardSignature } from "../support/senders.ts"

const KEY = "key-of-the-account-1234"
const DAY_MS = 86_400_000
/** The secret of a sender of Standard Webhooks. */
const WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

/** The headers of its event with this id. */
function signedAs(id: string, body: string): { readonly [header: string]: string } {
  const now = Date.now()
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now / 1000)),
    "webhook-signature": standardSignature(keyOfSecret(WHSEC), id, now, body),
  }
}

/** What Mailgun signs: a time and a token, and nothing of the event. */
const triple = (token: string, atMs = Date.now(), key = KEY) => {
  const timestamp = String(Math.floor(atMs / 1000))
  return {
    timestamp,
    token,
    signature: createHmac("sha256", key)
      .update(timestamp + token)
      .digest("hex"),
  }
}
const mailgun = (signature: object, event: string): string =>
  JSON.stringify({ signature, "event-data": { event } })
const post = (url: string, body: string, headers: { [name: string]: string } = {}): Promise<Response> =>
  fetch(url, { method: "POST", body, headers })
const statusOf = async (url: string, body: string, headers?: { [name: string]: string }): Promise<number> =>
  (await post(url, body, headers)).status

/** A pipeline that runs in this process and publishes to the topic `t` of an embedded log. */
async function start(directory: string, processors: PipelineParts["processors"]) {
  const app = new Application({ service: { logLevel: "silent" } })
  app.registerConnection("log", embeddedConnection({ directory }))
  const source = webHookSource({ host: "127.0.0.1", port: 0 })
  const sink = brokerSink({ topic: "t" })
  app.addPipeline(new Pipeline("p", { source, processors: [...processors, validator()], sink }))
  const { listening } = await app.start()
  return {
    url: listening[0]!.url,
    published: () => valuesInLog(directory, "t"),
    [Symbol.asyncDispose]: () => app.stop(),
  }
}

const configuration = (verifier: string, more = ""): string => `
[connection:log]
directory = data
[pipeline:p:WebHookSource]
[pipeline:p:Verifier]
${verifier}
[pipeline:p:BrokerSink]
topic = t
${more}`

const MAILGUN = `provider = mailgun\nsecret = ${KEY}`

describe("a request whose signature leaves its body open", () => {
  const fromMailgun = verifier({ provider: "mailgun", secret: [KEY] })

  test("is refused 400 days later, whatever it was filled with", async () => {
    using folder = temporaryFolder()
    await using it = await start(folder.path, [fromMailgun])
    const old = triple("captured", Date.now() - 400 * DAY_MS)
    expect(await statusOf(it.url, mailgun(old, "invented"))).toBe(401)
    expect(await it.published()).toEqual([])
  })

  test("of 40 uses at once, each with another body, one passes", async () => {
    using folder = temporaryFolder()
    await using it = await start(folder.path, [fromMailgun])
    const captured = triple("captured")
    const bodies = Array.from({ length: 40 }, (_, n) => mailgun(captured, `invented ${n}`))
    const statuses = await Promise.all(bodies.map((body) => statusOf(it.url, body)))
    expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 39 }, () => 401)])
    expect(await it.published()).toEqual([bodies[statuses.indexOf(200)]!])
  })

  test("of 40 at once with one body, as a sender that sends again, one is published, and all are answered 200", async () => {
    using folder = temporaryFolder()
    await using it = await start(folder.path, [fromMailgun])
    const body = mailgun(triple("honest"), "delivered")
    const statuses = await Promise.all(Array.from({ length: 40 }, () => statusOf(it.url, body)))
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(await it.published()).toEqual([body])
  })

  test("an answer of 503 frees its id: the sender's retry comes through, and then nothing else does", async () => {
    using folder = temporaryFolder()
    let refusals = 1
    await using it = await start(folder.path, [
      fromMailgun,
      (event) => (refusals-- > 0 ? new Rejected(503, "test", "Not now.") : event),
    ])
    const signed = triple("retried")
    const body = mailgun(signed, "delivered")
    expect(await statusOf(it.url, body)).toBe(503)
    expect(await statusOf(it.url, body)).toBe(200)
    expect(await statusOf(it.url, mailgun(signed, "invented"))).toBe(401)
    expect(await it.published()).toEqual([body])
  })

  test("is used up by an event that was dropped, too: its sender got 200", async () => {
    using folder = temporaryFolder()
    await using it = await start(folder.path, [
      fromMailgun,
      deduplicator({ key: "json:/event-data/event", store: "memory" }),
    ])
    const again = triple("again")
    expect(await statusOf(it.url, mailgun(triple("first"), "e1"))).toBe(200)
    expect(await statusOf(it.url, mailgun(again, "e1"))).toBe(200)
    expect(await statusOf(it.url, mailgun(again, "invented"))).toBe(401)
    expect(await it.published()).toHaveLength(1)
  })

  test.each([
    ["beside the embedded log", ""],
    [
      "in the Deduplicator's store",
      "[pipeline:p:Deduplicator]\nkey = json:/event-data/event\nstore = marks\n",
    ],
  ])("its id is known after a restart: %s", async (_name, more) => {
    using folder = temporaryFolder()
    const signed = triple("captured")
    const body = mailgun(signed, "delivered")
    await using first = await startInProcess(configuration(MAILGUN, more), { folder: folder.path })
    expect(await statusOf(first.urls["p"]!, body)).toBe(200)
    await first.stop()
    await using second = await startInProcess(configuration(MAILGUN, more), { folder: folder.path })
    const url = second.urls["p"]!
    expect(await statusOf(url, mailgun(signed, "invented"))).toBe(401)
    expect(await statusOf(url, body)).toBe(200)
    expect(await statusOf(url, mailgun(triple("new"), "new"))).toBe(200)
    await second.stop()
    expect(await valuesInLog(join(folder.path, "data"), "t")).toHaveLength(2)
  })

  test("says in the log why it was refused", async () => {
    using folder = temporaryFolder()
    await using running = await startInProcess(configuration(MAILGUN), { folder: folder.path })
    const signed = triple("captured")
    await post(running.urls["p"]!, mailgun(signed, "delivered"))
    const refused = await post(running.urls["p"]!, mailgun(signed, "invented"))
    expect(await refused.json()).toEqual({
      type: "urn:hookline:error:unauthorized",
      title: "Unauthorized",
      status: 401,
      detail: "The request could not be verified.",
      request_id: expect.stringMatching(/^[\w-]+$/),
    })
    await running.stop()
    expect(running.log.find(({ msg }) => msg === "event rejected")).toMatchObject({
      reason: "unverified_replayed",
      detail: "its signed id was used before, with another body",
    })
  })

  test.skipIf(!hasRedis())(
    "its id is known to the other replica, through the Deduplicator's Redis",
    async () => {
      using folder = temporaryFolder()
      await using redis = await startRedis()
      const more = `[pipeline:p:Deduplicator]\nkey = json:/event-data/event\nstore = ${redis.url}\n`
      await using replicas = new AsyncDisposableStack()
      const urls: string[] = []
      for (const name of ["a", "b"]) {
        const options = { folder: join(folder.path, name) }
        const replica = replicas.use(await startInProcess(configuration(MAILGUN, more), options))
        await replica.logged(({ msg }) => msg === "the Deduplicator's store is connected")
        urls.push(replica.urls["p"]!)
      }
      const signed = triple("captured")
      const bodies = Array.from({ length: 40 }, (_, n) => mailgun(signed, `invented ${n}`))
      const statuses = await Promise.all(bodies.map((body, n) => statusOf(urls[n % 2]!, body)))
      expect(statuses.filter((status) => status === 200)).toHaveLength(1)
      expect(new Set(statuses)).toEqual(new Set([200, 401]))
      const winner = bodies[statuses.indexOf(200)]!
      for (const url of urls) expect(await statusOf(url, winner)).toBe(200)
      await replicas.disposeAsync()
      const published = await Promise.all(
        ["a", "b"].map((name) => valuesInLog(join(folder.path, name, "data"), "t")),
      )
      expect(published.flat()).toHaveLength(1)
    },
  )
})

describe("an id that is signed with the body", () => {
  test.each([undefined, 0])(
    "is published once of 40 at one moment, with a tolerance of %p",
    async (tolerance) => {
      using folder = temporaryFolder()
      await using it = await start(folder.path, [
        verifier({ provider: "standard-webhooks", secret: [WHSEC], tolerance }),
      ])
      const headers = signedAs("msg_1", "{}")
      const statuses = await Promise.all(Array.from({ length: 40 }, () => statusOf(it.url, "{}", headers)))
      expect(new Set(statuses)).toEqual(new Set([200]))
      expect(await statusOf(it.url, "{}", headers)).toBe(200)
      expect(await it.published()).toHaveLength(1)
    },
  )

  test("waits for the first one: where that fails, the next one is published", async () => {
    using folder = temporaryFolder()
    const { promise, resolve } = Promise.withResolvers<void>()
    let isFirst = true
    await using it = await start(folder.path, [
      verifier({ provider: "standard-webhooks", secret: [WHSEC] }),
      async (event) => {
        if (!isFirst) return event
        isFirst = false
        await promise
        return new Rejected(503, "test", "Not now.")
      },
    ])
    const headers = signedAs("msg_1", "{}")
    const answers = [statusOf(it.url, "{}", headers), statusOf(it.url, "{}", headers)]
    resolve()
    expect((await Promise.all(answers)).toSorted()).toEqual([200, 503])
    expect(await it.published()).toHaveLength(1)
  })
})

test("mode = observe with a Deduplicator: an unverified event claims no key, and is none's duplicate", async () => {
  using folder = temporaryFolder()
  await using it = await start(folder.path, [
    verifier({ provider: "github", secret: [KEY], mode: "observe" }),
    deduplicator({ key: "json:/id", store: "memory" }),
  ])
  const body = '{"id":7,"by":"the provider"}'
  const signature = {
    "X-Hub-Signature-256": `sha256=${createHmac("sha256", KEY).update(body).digest("hex")}`,
  }
  const forged = '{"id":7,"by":"a stranger"}'
  expect(await statusOf(it.url, forged)).toBe(200)
  expect(await statusOf(it.url, body, signature)).toBe(200)
  expect(await statusOf(it.url, body, signature)).toBe(200)
  expect(await statusOf(it.url, forged)).toBe(200)
  expect(await it.published()).toEqual([forged, body, forged])
})
