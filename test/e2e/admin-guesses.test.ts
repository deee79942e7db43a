import { afterEach, beforeEach, expect, spyOn, test } from "bun:test"
import { AdminApi } from "../support/admin-api.ts"
import { checked } from "../support/problems-in.ts"

const TOKEN = "obviously-fake-admin-token"
const configuration = (token: string): string => `
[connection:log]
directory = log
[pipeline:a:WebHookSource]
[pipeline:a:BrokerSink]
topic = a
[admin]
listen = 127.0.0.1:0
token = ${token}
`
/** Of each test its own: what an address has guessed counts for minutes. */
let it: AdminApi
beforeEach(async () => {
  it = await AdminApi.startInProcess(configuration(TOKEN))
})
afterEach(() => it[Symbol.asyncDispose]())

const ask = (path: string, token: string): Promise<Response> =>
  fetch(it.running.adminUrl + path, { headers: { Authorization: `Bearer ${token}` } })
const login = (token: string): Promise<Response> =>
  it.fetch("session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
  })
const guessTen = (): Promise<unknown> => Promise.all(Array.from({ length: 10 }, (_, n) => login(`wrong${n}`)))

test("after ten wrong tokens, wherever they are presented, an address gets 429; the right one is accepted at once", async () => {
  // an address may guess again after a while, which a busy machine takes for this
  using _clock = spyOn(performance, "now").mockReturnValue(performance.now())
  const guesses = [
    ...["/metrics", "/api/overview", "/readyz", "/"].flatMap((path) =>
      ["", "1", "2"].map((n) => ask(path, `wrong${n}`)),
    ),
    ...["", "1", "2"].map((n) => login(`wrong${n}`)),
  ]
  const answers = await Promise.all(guesses)
  const limited = answers.filter(({ status }) => status === 429)
  expect(limited).toHaveLength(guesses.length - 10)
  for (const { headers } of limited) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0)
  for (let n = 0; n < 20; n++) {
    expect((await ask("/metrics", TOKEN)).status).toBe(200)
    expect((await ask("/api/overview", TOKEN)).status).toBe(200)
    expect((await login(TOKEN)).status).toBe(204)
  }
  expect((await ask("/api/overview", "wrong")).status).toBe(429)
})

test("an answer to a guess beyond them is held back for a second", async () => {
  await guessTen()
  const fromMs = performance.now()
  expect((await login("wrong")).status).toBe(429)
  expect(performance.now() - fromMs).toBeGreaterThan(900)
})

test("requests without a token, and with another scheme, are no guesses", async () => {
  expect((await fetch(`${it.running.adminUrl}/metrics`)).status).toBe(401)
  const basic = { Authorization: `Basic ${btoa("a:obviously-fake")}` }
  expect((await fetch(`${it.running.adminUrl}/api/overview`, { headers: basic })).status).toBe(401)
  expect((await fetch(`${it.running.adminUrl}/readyz`)).status).toBe(200)
})

test("a wrong token opens no operation of the API", async () => {
  const document = await (await ask("/api/openapi.json", TOKEN)).json()
  const { paths } = document as { paths: { [path: string]: { [method: string]: { security: object[] } } } }
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { security }]) =>
      security.length === 0 ? [] : [[method, path]],
    ),
  )
  expect(operations.length).toBeGreaterThan(15)
  const answers = operations.map(async ([method, path]) => {
    const url = it.running.adminUrl + path!.replace(/\{\w+\}/g, "0")
    const headers = { Authorization: "Bearer wrong", "Content-Type": "application/json" }
    return (await fetch(url, { method: method!.toUpperCase(), headers })).status
  })
  for (const status of await Promise.all(answers)) expect([401, 429]).toContain(status)
})

test("thousands of guesses are one line of the log, with the address and no token", async () => {
  await guessTen()
  const statuses = await Promise.all(
    Array.from({ length: 3000 }, async (_, n) => (await login(`guess-${n}`)).status),
  )
  expect(new Set(statuses)).toEqual(new Set([429]))
  const lines = it.running.log.filter((line) => line["wrong_tokens"] !== undefined)
  expect(lines).toMatchObject([{ level: "warn", remote_address: "127.0.0.1", wrong_tokens: 1 }])
  expect(it.running.output()).not.toContain("guess-")
})

test("a short token is a warning of hookline check and of the start; a long one is not", async () => {
  await using other = await AdminApi.startInProcess(configuration("guessable"))
  const warned = "token has 9 characters, few enough to guess; use a random one of at least 16"
  await other.running.logged(({ level, msg }) => level === "warn" && msg.includes(warned))
  const warningsIn = async ({ folder }: AdminApi): Promise<string> =>
    (await checked(`${folder}/pipelines.conf`)).problems.warnings.join("\n")
  expect(await warningsIn(other)).toContain("few enough to guess")
  expect(other.running.output() + (await warningsIn(other))).not.toContain("guessable")
  expect(await warningsIn(it)).not.toContain("guess")
})
