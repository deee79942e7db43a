import { describe, expect, test } from "bun:test"
import { Hono } from "hono"
import {
  Application,
  brokerSink,
  enricher,
  memoryConnection,
  Pipeline,
  validator,
  webHookSource,
  type ApplicationOptions,
  type MemoryConnection,
  type PipelineParts,
} from "../../src/index.ts"
import { join } from "node:path"
import { runToEnd } from "../support/child.ts"
import { folderOfTests } from "../support/hookline.ts"
import { withPemFiles } from "../support/certificate.ts"

const folder = folderOfTests()

type SourceOptions = NonNullable<Parameters<typeof webHookSource>[0]>

interface Mounted {
  readonly app: Application
  readonly memory: MemoryConnection
}

/** An application with one pipeline at /webhook, that nobody has started. */
function application(
  source: SourceOptions = {},
  service: ApplicationOptions["service"] = {},
  steps: PipelineParts["processors"] = [],
): Mounted {
  const memory = memoryConnection()
  const app = new Application({ service: { logLevel: "silent", ...service } })
  app.registerConnection("kafka", memory)
  app.addPipeline(
    new Pipeline("hooks", {
      source: webHookSource(source),
      processors: [...steps, validator(), enricher()],
      sink: brokerSink({ topic: "hooks" }),
    }),
  )
  return { app, memory }
}

type RequestBody = NonNullable<RequestInit["body"]>
type Serving = Bun.Server<undefined> & AsyncDisposable

function serve(fetch: (request: Request, server: Bun.Server<undefined>) => Response | Promise<Response>) {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch })
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.stop(true) }) as Serving
}

const send = (url: string, body: RequestBody, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { method: "POST", body, headers })

const values = (memory: MemoryConnection): unknown[] =>
  memory.records().map(({ value }) => JSON.parse(Buffer.from(value).toString()) as unknown)

describe("an application mounted in a Bun.serve", () => {
  test.each([
    [false, 0],
    [true, 1],
  ])(
    "with own ports: %p, the log warns of an address that is open to all %d times",
    async (listen, warnings) => {
      const program = `import { Application, Pipeline, brokerSink, memoryConnection, webHookSource } from ${JSON.stringify(join(import.meta.dir, "../../src/index.ts"))}
const app = new Application()
app.registerConnection("kafka", memoryConnection())
app.addPipeline(new Pipeline("hooks", { source: webHookSource({ port: 0 }), processors: [], sink: brokerSink({ topic: "hooks" }) }))
await app.start({ listen: ${listen} })
await app.stop()`
      const { status, stdout } = await runToEnd([process.execPath, "-e", program], { cwd: folder.path })
      expect(status).toBe(0)
      expect(stdout.split("\n").filter((line) => line.includes("NOT VERIFIED"))).toHaveLength(warnings)
    },
  )

  test("is started by the first request, publishes, and opens no port", async () => {
    const { app, memory } = application({ port: 8080 })
    await using other = serve(app.fetch)
    // the port that the pipeline would listen on is somebody else's, or free: either way it is left alone
    await using holder = serve(() => new Response("mine"))
    const answers = await Promise.all([1, 2, 3].map((a) => send(`${other.url}webhook`, `{"a":${a}}`)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(values(memory)).toMatchObject([
      { source: "webhook" },
      { source: "webhook" },
      { source: "webhook" },
    ])
    expect((await send(`${other.url}elsewhere`, "{}")).status).toBe(404)
    expect((await send(`${other.url}webhook`, "{")).headers.get("content-type")).toBe(
      "application/problem+json",
    )
    expect(await (await fetch(holder.url)).text()).toBe("mine")
    await app.stop()
  })

  test("start({ listen: false }) says what is wrong, and listens nowhere", async () => {
    const { app } = application()
    const { listening } = await app.start({ listen: false })
    expect(listening).toEqual([])
    await app.stop()
    const wrong = new Application({ service: { logLevel: "silent" } })
    await expect(wrong.fetch(new Request("http://localhost/webhook"))).rejects.toMatchObject({
      code: "config",
    })
  })

  test("answers with its own ports open, too", async () => {
    const { app, memory } = application({ host: "127.0.0.1", port: 0 })
    const starting = app.start()
    await using other = serve(app.fetch)
    expect((await send(`${other.url}webhook`, "{}")).status).toBe(200)
    const { listening } = await starting
    expect((await send(listening[0]!.url, "{}")).status).toBe(200)
    expect(memory.records("hooks")).toHaveLength(2)
    await app.stop()
  })

  test("knows the client's address", async () => {
    const { app } = application({ allow: ["127.0.0.1"] })
    await using other = serve(app.fetch)
    await using silent = serve((request) => app.fetch(request))
    expect((await send(`${other.url}webhook`, "{}")).status).toBe(200)
    expect((await send(`${silent.url}webhook`, "{}")).status).toBe(403)
    await app.stop()
  })

  test.each<[name: string, body: () => RequestBody, headers: Record<string, string>]>([
    ["declared", () => "x".repeat(2000), {}],
    ["of unknown length", () => new Response("x".repeat(2000)).body!, {}],
    ["compressed", () => Bun.gzipSync(Buffer.from("x".repeat(2000))), { "content-encoding": "gzip" }],
  ])("a body over maxBodyBytes that is %s gets 413", async (_, body, headers) => {
    const { app, memory } = application({ maxBodyBytes: "1KiB" })
    await using other = serve(app.fetch)
    expect((await send(`${other.url}webhook`, body(), headers)).status).toBe(413)
    expect(memory.records()).toEqual([])
    await app.stop()
  })

  test("a body that is longer than it declares is measured", async () => {
    const { app, memory } = application({ maxBodyBytes: "1KiB" })
    const headers = { "content-length": "2" }
    const request = new Request("http://localhost/webhook", {
      method: "POST",
      headers,
      body: "x".repeat(2000),
    })
    expect((await app.fetch(request)).status).toBe(413)
    expect(memory.records()).toEqual([])
    await app.stop()
  })

  test("answers 503 when it has stopped, and takes events again when it is started", async () => {
    const { app } = application()
    await using other = serve(app.fetch)
    expect((await send(`${other.url}webhook`, "{}")).status).toBe(200)
    await app.stop()
    const answer = await send(`${other.url}webhook`, "{}")
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"])
    await app.start({ listen: false })
    expect((await send(`${other.url}webhook`, "{}")).status).toBe(200)
    await app.stop()
  })

  test("a reload adds a pipeline without a restart", async () => {
    const { app } = application()
    await using other = serve(app.fetch)
    expect((await send(`${other.url}more`, "{}")).status).toBe(404)
    app.addPipeline(
      new Pipeline("more", {
        source: webHookSource({ path: "/more" }),
        processors: [validator()],
        sink: brokerSink({ topic: "more" }),
      }),
    )
    await app.reload()
    expect((await send(`${other.url}more`, "{}")).status).toBe(200)
    await app.stop()
  })

  test("a request whose body was read before is the caller's mistake, and says so", async () => {
    const { app } = application()
    const request = new Request("http://localhost/webhook", { method: "POST", body: "{}" })
    await request.text()
    await expect(app.fetch(request)).rejects.toMatchObject({ code: "usage" })
    await app.stop()
  })
})

test("what a mounted application can't have is reported in the words of code", async () => {
  const second = new Pipeline("second", {
    source: webHookSource({ port: 8081 }),
    processors: [],
    sink: brokerSink({ topic: "t" }),
  })
  const { app: sharing } = application({ port: 8080 })
  sharing.addPipeline(second)
  await expect(sharing.start({ listen: false })).rejects.toThrow(
    'in code: pipeline "second", webHookSource, option path: /webhook is that of pipeline "hooks" too',
  )
  withPemFiles("tls_certificate = any.pem\ntls_key = any.key", folder.path)
  const [tlsCertificate, tlsKey] = [`${folder.path}/any.pem`, `${folder.path}/any.key`]
  const { app: encrypted } = application({ tlsCertificate, tlsKey })
  await expect(encrypted.start({ listen: false })).rejects.toThrow("option tlsCertificate: has no effect")
})

describe("an application mounted in Hono", () => {
  test("by a route, as a part of an application, and under a path of its own", async () => {
    const { app, memory } = application({ allow: ["127.0.0.1"] })
    const byRoute = new Hono<{ Bindings: Bun.Server<undefined> }>()
    byRoute.get("/", (c) => c.text("home"))
    byRoute.all("/webhook", (c) => app.fetch(c.req.raw, c.env))
    const asPart = new Hono().mount("/webhook", app.fetch, { replaceRequest: false })
    await using first = serve(byRoute.fetch)
    await using second = serve(asPart.fetch)
    expect(await (await fetch(first.url)).text()).toBe("home")
    for (const { url } of [first, second]) {
      expect((await send(`${url}webhook`, '{"a":1}')).status).toBe(200)
      expect((await send(`${url}webhook`, "{")).status).toBe(400)
    }
    expect(memory.records("hooks")).toHaveLength(2)
    await app.stop()

    const { app: anywhere, memory: its } = application()
    await using third = serve(new Hono().mount("/in", anywhere.fetch).fetch)
    expect((await send(`${third.url}in/webhook`, "{}")).status).toBe(200)
    expect(its.records()).toHaveLength(1)
    await anywhere.stop()
  })
})
