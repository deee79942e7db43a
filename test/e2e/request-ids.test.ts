import { expect, test } from "bun:test"
import { Accepted, Dropped, Rejected } from "../../src/pipeline/outcome.ts"
import { serve } from "../support/http-server.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { reloadConf } from "../support/reloaded.ts"

const refuse = async () => new Rejected(401, "unverified_no_match", "The request could not be verified.")
const post = (url: string, id?: string): Promise<Response> =>
  fetch(`${url}/webhook`, {
    method: "POST",
    body: "{}",
    headers: id === undefined ? {} : { "X-Request-Id": id },
  })

test("a refusal has its request's id in a header and in the body, as the log's line has", async () => {
  await using it = serve({ handle: refuse })
  const [first, second] = [await post(it.url), await post(it.url)] as const
  const ids = [first, second].map(({ headers }) => headers.get("x-request-id"))
  expect(new Set(ids).size).toBe(2)
  expect([await first.json(), await second.json()]).toMatchObject(ids.map((id) => ({ request_id: id })))
  expect(it.log.map((line) => line["request_id"])).toEqual(ids)
})

test("what a step of the pipeline reads is the id of the answer and of the log", async () => {
  const seen: string[] = []
  await using it = serve({
    handle: async ({ request }) => (seen.push(request.id), seen.push(request.id), refuse()),
  })
  const answer = await post(it.url)
  expect(new Set([...seen, answer.headers.get("x-request-id"), it.log[0]!["request_id"]]).size).toBe(1)
})

test.each<[string, (() => boolean) | undefined, boolean]>([
  ["a sender gives itself is ignored", undefined, false],
  ["a trusted proxy gives is taken", () => true, true],
  ["somebody gives who is not the trusted proxy is ignored", () => false, false],
])("an id that %s", async (_whose, trustsProxy, isTaken) => {
  await using it = serve({ handle: refuse, trustsProxy })
  const answer = await post(it.url, "proxy-4711")
  expect(answer.headers.get("x-request-id") === "proxy-4711").toBe(isTaken)
  expect(it.log[0]!["request_id"]).toBe(answer.headers.get("x-request-id"))
})

test("an id of a proxy that is none is replaced", async () => {
  await using it = serve({ handle: refuse, trustsProxy: () => true })
  for (const id of ["two words", "a".repeat(129), '"', "a,b"])
    expect((await post(it.url, id)).headers.get("x-request-id")).toMatch(/^[0-9a-z]{8}-[0-9a-z]+$/)
})

test("an accepted answer has none, a dropped event's line has one, a fault's line and answer too", async () => {
  const outcomes = [async () => new Accepted({ partition: 0, offset: 0 }), async () => new Dropped("ping")]
  await using it = serve({ handle: () => outcomes.shift()?.() ?? Promise.reject(new Error("broken")) })
  for (const status of [200, 200]) {
    const answer = await post(it.url)
    expect([answer.status, answer.headers.get("x-request-id")]).toEqual([status, null])
  }
  const fault = await post(it.url)
  expect(fault.status).toBe(500)
  expect(it.log.map(({ msg, request_id: id }) => [msg, typeof id])).toEqual([
    ["event dropped", "string"],
    ["unhandled error while processing a request", "string"],
  ])
  expect(it.log[1]!["request_id"]).toBe(fault.headers.get("x-request-id"))
})

test("the ids of a service that runs: an unknown path's, a refused body's, at debug a published event's", async () => {
  using folder = temporaryFolder()
  const conf = `${reloadConf()}[service]\nlog_level = debug\n`
  await using running = await startHookline(conf, { folder: folder.path })
  const url = running.urls["webhooks"]!
  const answers = [
    await fetch(`${url}/elsewhere`, { method: "POST" }),
    await fetch(url, { method: "POST", body: "[]" }),
    await fetch(url),
  ]
  expect(answers.map(({ status }) => status)).toEqual([404, 400, 405])
  const ids = answers.map(({ headers }) => headers.get("x-request-id"))
  expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(200)
  const line = await running.logged(({ msg }) => msg === "event published")
  expect(line["request_id"]).toBeString()
  const logged = running.log.map(({ request_id: id }) => id).filter((id) => id !== undefined)
  expect(logged as unknown[]).toEqual([...ids, line["request_id"]])
})

test("the line of a secret that a provider's first request has brought has that request's id", async () => {
  using folder = temporaryFolder()
  const verifier = "[pipeline:webhooks:Verifier]\nprovider = asana\nsecret_file = asana.secret\n"
  const conf = `${reloadConf()}${verifier}[service]\nlog_level = debug\n`
  await using running = await startHookline(conf, { folder: folder.path })
  const headers = { "X-Hook-Secret": "b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81" }
  expect((await fetch(running.urls["webhooks"]!, { method: "POST", body: "{}", headers })).status).toBe(200)
  const answered = await running.logged(({ msg }) => msg === "handshake answered")
  const learned = running.log.find(({ msg }) => msg.startsWith("secret received"))!
  expect(answered["request_id"]).toBeString()
  expect(learned["request_id"]).toBe(answered["request_id"])
})
