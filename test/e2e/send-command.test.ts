import { expect, test } from "bun:test"
import { join } from "node:path"
import { eventMaker } from "../../src/commands/send.ts"
import { sendEvents } from "../../src/commands/send-events.ts"
import { makeVerifier } from "../../src/verify/presets/providers.ts"
import type { Verifier } from "../../src/verify/verifier.ts"
import { hooklineInProcess } from "../support/command-in-process.ts"
import { hookline, startHookline, temporaryFolder } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"
import { PROGRAM } from "../support/program.ts"
import { HANG_MS } from "../support/hang.ts"

const SECRET = "a-secret-of-nobody"

interface Received {
  readonly headers: Headers
  readonly text: string
  readonly verdict: string
}

/** A receiver that verifies as a pipeline does. */
function receive(verifier?: Verifier, answer: (nth: number) => Response = () => new Response()) {
  const received: Received[] = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { method, url, headers } = request
      const { pathname, search } = new URL(url)
      const body = await request.bytes()
      const verdict = await verifier?.verify(
        { method, url, path: pathname, query: search.slice(1), headers, body },
        Date.now(),
      )
      const said = verdict === undefined ? "" : verdict.kind === "verified" ? "verified" : verdict.detail
      received.push({ headers, text: Buffer.from(body).toString(), verdict: said })
      return verdict?.kind === "refused" ? new Response("refused", { status: 401 }) : answer(received.length)
    },
  })
  return {
    received,
    url: `http://127.0.0.1:${server.port}/in`,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

test("the command posts signed events, says what came back, and shows no secret", async () => {
  await using receiver = receive(makeVerifier("github", { secret: [SECRET] }))
  const { status, stdout, stderr } = await hookline(
    ["send", "-p", "github", "--count", "30", "--concurrency", "4", receiver.url],
    { env: { HOOKLINE_SECRET: SECRET } },
  )
  expect([status, stderr]).toEqual([0, ""])
  expect(stdout).toMatch(
    /^30 sent in [\d.]+ s, [\d.]+ a second\nanswers: 30 x 200\nlatency: p50 [\d.]+ ms, p99 [\d.]+ ms\n$/,
  )
  expect(stdout).not.toContain(SECRET)
  const deliveries = receiver.received.map(({ headers }) => headers.get("X-GitHub-Delivery"))
  expect(new Set(deliveries).size).toBe(30)
})

test("a wrong secret: the answers are counted, the first is shown, and it exits 1", async () => {
  await using receiver = receive(makeVerifier("github", { secret: ["another"] }))
  const { status, stdout } = await hooklineInProcess([
    "send",
    "-p",
    "github",
    "-s",
    SECRET,
    "-n",
    "3",
    receiver.url,
  ])
  expect(status).toBe(1)
  expect(stdout).toContain("answers: 3 x 401")
  expect(stdout).toContain("first error: 401: refused")
})

test("one answer that is not 2xx among others is enough for 1; an error that repeats the secret is masked", async () => {
  await using receiver = receive(undefined, (nth) =>
    nth === 2 ? new Response(`no ${SECRET}`, { status: 503 }) : new Response(null, { status: 204 }),
  )
  const { status, stdout } = await hooklineInProcess([
    "send",
    "-p",
    "gitlab",
    "-s",
    SECRET,
    "-n",
    "5",
    "-c",
    "1",
    receiver.url,
  ])
  expect(status).toBe(1)
  expect(stdout).toContain("answers: 4 x 204, 1 x 503")
  expect(stdout).toContain("first error: 503: no [secret]")
})

test.each([
  ["is cut short", '{"detail":"ful', 'first error: 507: {"detail":"ful\n'],
  ["has no detail", '{"title":"full"}', 'first error: 507: {"title":"full"}\n'],
])("a problem document that %s is counted by its status, and shown", async (_, body, error) => {
  const headers = { "Content-Type": "application/problem+json" }
  await using receiver = receive(undefined, () => new Response(body, { status: 507, headers }))
  const { status, stdout } = await hooklineInProcess(["send", receiver.url])
  expect(status).toBe(1)
  expect(stdout).toContain("answers: 1 x 507\n")
  expect(stdout).toEndWith(error)
})

test("a redirect is an answer, and is not followed", async () => {
  await using receiver = receive(
    undefined,
    () => new Response(null, { status: 302, headers: { Location: "/" } }),
  )
  const { status, stdout } = await hooklineInProcess(["send", receiver.url])
  expect([status, receiver.received.length]).toEqual([1, 1])
  expect(stdout).toContain("1 x 302")
})

test("nobody listening is an answer of 1, not a fault", async () => {
  const closed = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
  const url = `http://127.0.0.1:${closed.port}/`
  await closed.stop(true)
  const { status, stdout, stderr } = await hooklineInProcess(["send", "-n", "2", url])
  expect([status, stderr]).toEqual([1, ""])
  expect(stdout).toContain("answers: 2 x ECONNREFUSED\n")
  expect(stdout).toEndWith(`first error: nothing listens on ${new URL(url).host}: is hookline running?\n`)
})

test("a pipeline's name stands for its address, sender and secret; where the event is stored is said", async () => {
  using folder = temporaryFolder()
  const admin = await freePort()
  const source = `port = ${await freePort()}\nhost = 127.0.0.1`
  const configuration = (secret: string): string => `[connection:log]\ndirectory = log
[admin]\nlisten = 127.0.0.1:${admin}\ntoken = obviously-not-a-real-token
[pipeline:pay:WebHookSource]\n${source}\npath = /pay\n[pipeline:pay:Verifier]\nprovider = github\nsecret = ${secret}
[pipeline:pay:BrokerSink]\ntopic = payments
[pipeline:open:WebHookSource]\n${source}\npath = /open/*\nmax_body_bytes = 10\n[pipeline:open:BrokerSink]\ntopic = t\n`
  await using _ = await startHookline(configuration(SECRET), { folder: folder.path })
  const file = join(folder.path, "pipelines.conf")
  const sending = (...words: string[]): ReturnType<typeof hookline> =>
    hooklineInProcess(["send", ...words, "-c", file], { env: { HOOKLINE_SECRET: "another" } })

  const id = "[0-9a-f]{8}-[0-9a-f-]{27}"
  const two = await sending("pay", "-n", "2", "-j", "1")
  expect([two.status, two.stderr]).toEqual([0, ""])
  expect(two.stdout).toMatch(new RegExp(`\n(stored: log/payments, partition 0, offset [01], id ${id}\n){2}$`))
  const { stored } = JSON.parse((await sending("pay", "--json")).stdout) as { stored: object[] }
  expect(stored).toEqual([
    {
      connection: "log",
      topic: "payments",
      partition: 0,
      offset: 2,
      id: expect.stringMatching(new RegExp(`^${id}$`)),
    },
  ])
  const large = await sending("open")
  expect([large.status, large.stdout.split("\n").at(-2)]).toEqual([
    1,
    "first error: 413: The body is larger than this endpoint accepts. Why: hookline verify --last --pipeline open",
  ])
  // where the API does not tell, nothing is said
  await Bun.write(file, configuration(SECRET).replace("a-real-token", "the-token"))
  const untold = await sending("pay")
  expect([untold.status, untold.stdout.includes("stored")]).toEqual([0, false])
  const refused = await sending("pay", "-s", "another")
  expect([refused.status, refused.stdout.split("\n").at(-2)]).toEqual([
    1,
    "first error: 401: run hookline verify --last --pipeline pay",
  ])
  const unknown = await sending("play")
  expect([unknown.status, unknown.stderr]).toEqual([
    64,
    expect.stringContaining("has no pipeline play; did you mean pay?"),
  ])
})

test("an event for a pipeline whose path is a prefix is posted below it, and signed for the URL that it is posted to", async () => {
  using folder = temporaryFolder()
  await using _ = await startHookline(
    `[connection:log]\ndirectory = log
[pipeline:square:WebHookSource]\nhost = 127.0.0.1\nport = ${await freePort()}\npath = /square/*
[pipeline:square:Verifier]\nprovider = square\nsecret = ${SECRET}
[pipeline:square:BrokerSink]\ntopic = square\n`,
    { folder: folder.path },
  )
  const sent = await hooklineInProcess(["send", "square", "-c", join(folder.path, "pipelines.conf")])
  expect([sent.status, sent.stdout]).toEqual([0, expect.stringContaining("answers: 1 x 200")])
})

test("an answer that takes longer than the timeout is counted as such", async () => {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => Promise.withResolvers<Response>().promise,
  })
  const { status, stdout } = await hooklineInProcess([
    "send",
    "--timeout",
    "0.2",
    `http://127.0.0.1:${server.port}/`,
  ])
  await server.stop(true)
  expect([status, stdout.includes("1 x TimeoutError")]).toEqual([1, true])
})

test("without a provider the general sample goes out unsigned, with the headers that were given", async () => {
  await using receiver = receive()
  const { status } = await hooklineInProcess(["send", "-H", "X-Key: 7", receiver.url])
  expect(status).toBe(0)
  const [{ headers, text } = { headers: new Headers(), text: "" }] = receiver.received
  expect(JSON.parse(text)).toMatchObject({ type: "sample.created", number: 1 })
  expect([headers.get("X-Key"), headers.get("Content-Type")]).toEqual(["7", "application/json"])
})

test("a custom body is sent byte for byte, and signed", async () => {
  using folder = temporaryFolder()
  const body = ' {"a":\t1.0}\r\n'
  await Bun.write(join(folder.path, "body"), body)
  await Bun.write(join(folder.path, "secret"), `${SECRET}\n`)
  await using receiver = receive(makeVerifier("stripe", { secret: [SECRET] }))
  const { status } = await hooklineInProcess(
    ["send", "-p", "stripe", "--secret-file", "secret", "--body", "body", receiver.url],
    { cwd: folder.path },
  )
  expect(status).toBe(0)
  expect(receiver.received).toMatchObject([{ text: body, verdict: "verified" }])
})

test("the rate is kept: 6 events at 20 a second take a quarter of a second", async () => {
  await using receiver = receive()
  const next = eventMaker(new URL(receiver.url), {}, {})
  const { elapsedMs, latenciesMs } = await sendEvents(
    next,
    { count: 6, ratePerS: 20, concurrency: 3, timeoutMs: HANG_MS },
    { signal: AbortSignal.timeout(HANG_MS), onAnswer: () => {} },
  )
  expect(latenciesMs).toHaveLength(6)
  expect(elapsedMs).toBeGreaterThanOrEqual(245)
})

test("no more requests are out than --concurrency allows", async () => {
  let out = 0
  let most = 0
  let release = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch() {
      most = Math.max(most, ++out)
      if (out === 3) {
        release.resolve()
        release = Promise.withResolvers()
      } else await release.promise
      out--
      return new Response()
    },
  })
  const next = eventMaker(new URL(`http://127.0.0.1:${server.port}/`), {}, {})
  const { outcomes } = await sendEvents(
    next,
    { count: 9, concurrency: 3, timeoutMs: HANG_MS },
    { signal: AbortSignal.timeout(HANG_MS), onAnswer: () => {} },
  )
  await server.stop(true)
  expect([[...outcomes], most]).toEqual([[[200, 9]], 3])
})

test("an interrupt ends it in order: what was sent is reported, and it exits 1", async () => {
  const first = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => {
      first.resolve()
      return new Response()
    },
  })
  const child = Bun.spawn([...PROGRAM, "send", "-n", "1000", "-r", "1", `http://127.0.0.1:${server.port}/`], {
    stdout: "pipe",
    stderr: "inherit",
  })
  await first.promise
  child.kill("SIGINT")
  expect(await new Response(child.stdout).text()).toContain("1 x 200")
  expect(await child.exited).toBe(1)
  await server.stop(true)
})

test("--public-url is what is signed, and parameters that are added go to where it is posted", async () => {
  const settings = { secret: [SECRET] }
  const publicUrl = "https://hooks.example.com/in"
  const verdicts: string[] = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const verdict = await makeVerifier("twilio", settings).verify(
        {
          method: request.method,
          url: publicUrl + search,
          path: pathname,
          query: search.slice(1),
          headers: request.headers,
          body: await request.bytes(),
        },
        Date.now(),
      )
      verdicts.push(verdict.kind)
      return new Response()
    },
  })
  const common = ["send", "-p", "twilio", "--public-url", publicUrl, `http://127.0.0.1:${server.port}/inner`]
  const env = { HOOKLINE_SECRET: SECRET }
  await hooklineInProcess(common, { env })
  await hooklineInProcess([...common, "-H", "Content-Type: application/json"], { env })
  await server.stop(true)
  expect(verdicts).toEqual(["verified", "verified"])
})

test.each([
  [
    "a provider that only itself can sign for",
    ["-p", "aws-sns", "http://127.0.0.1/"],
    "only the provider has",
  ],
  ["a provider with a private key, without one", ["-p", "discord", "http://127.0.0.1/"], "make a key pair"],
  ["a secret that is missing", ["-p", "github", "http://127.0.0.1/"], "secret: is missing"],
  ["a username that is missing", ["-p", "chargebee", "http://127.0.0.1/"], "username: is missing"],
  ["a secret of a wrong form", ["-p", "svix", "-s", "not/base64!", "http://127.0.0.1/"], "whsec_ and base64"],
  ["a provider that there is none of", ["-p", "strip", "http://127.0.0.1/"], "did you mean stripe?"],
  ["no URL", [], "missing required argument"],
  ["something else than a URL", ["localhost:8080"], "URL is not an http or https URL"],
  ["a count of 0", ["-n", "0", "http://127.0.0.1/"], "a whole number from 1"],
  ["a rate of 0", ["-r", "0", "http://127.0.0.1/"], "a number above 0"],
  ["a header without a colon", ["-H", "X-Key", "http://127.0.0.1/"], "'Name: value'"],
])("%s is a wrong command line: 64", async (_, args, message) => {
  const { status, stdout, stderr } = await hooklineInProcess(["send", ...args], {
    env: { HOOKLINE_SECRET: "" },
  })
  expect([status, stdout]).toEqual([64, ""])
  expect(stderr).toContain(message)
  expect(stderr).not.toContain("not/base64!")
})

test("a body that can't be read is 66", async () => {
  const { status, stderr } = await hooklineInProcess(["send", "-b", "/no/such/file", "http://127.0.0.1/"])
  expect(status).toBe(66)
  expect(stderr).toContain("/no/such/file")
})
