import { afterEach, describe, expect, test } from "bun:test"
import { join } from "node:path"
import {
  Application,
  brokerSink,
  embeddedConnection,
  memoryConnection,
  Pipeline,
  testHandler,
  webHookSource,
  type Handler,
  type HandledEvent,
  type HandlerOptions,
} from "../../src/index.ts"
import type { Overview } from "../../src/admin/api/overview-shape.ts"
import { freePort } from "../support/ports.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"

const folder = temporaryFolder()
let app: Application | undefined
afterEach(async () => {
  await app?.stop()
  app = undefined
  folder[Symbol.dispose]()
})

/** Starts an application with a handler of its topic. @returns posts an event */
async function start(
  handler: Handler,
  options: HandlerOptions = {},
  connection = embeddedConnection({ directory: join(folder.path, "log") }),
  admin?: { readonly host: string; readonly port: number },
): Promise<(...keys: string[]) => Promise<void>> {
  const service = { logLevel: "silent" } as const
  const started = (app = new Application(
    admin === undefined ? { service } : { service, admin: { listen: admin } },
  ))
  started.registerConnection("log", connection)
  started
    .addPipeline(
      new Pipeline("p", {
        source: webHookSource({ port: 0, path: "/in" }),
        processors: [],
        sink: brokerSink({ topic: "t", key: "json:/k", headers: ["kind=json:/k"] }),
      }),
    )
    .handle("log/t", handler, options)
  await (admin === undefined ? started.start({ listen: false }) : started.start())
  return async (...keys) => {
    for (const k of keys) {
      const request = new Request("http://localhost/in", { method: "POST", body: JSON.stringify({ k }) })
      expect((await started.fetch(request)).status).toBe(200)
    }
  }
}

/** Keeps what a handler got. */
function kept(): { readonly events: HandledEvent[]; readonly handler: Handler } {
  const events: HandledEvent[] = []
  return { events, handler: (event) => events.push(event) }
}

describe("a handler", () => {
  test("gets each event of its topic, and continues after a restart where it was", async () => {
    const first = kept()
    const post = await start(first.handler)
    await post("a", "b")
    await until("handled", () => first.events.length === 2)
    const [event] = first.events
    expect(event!.json<{ k: string }>().k).toBe("a")
    expect([event!.topic, event!.key, event!.headers.get("kind"), event!.offset]).toEqual(["t", "a", "a", 0])
    await app!.stop()
    const second = kept()
    const postAgain = await start(second.handler)
    await postAgain("c")
    await until("handled", () => second.events.length === 1)
    expect(second.events[0]!.json()).toMatchObject({ k: "c" })
    // another group gets what is published from its start on
    await app!.stop()
    const other = kept()
    await start(other.handler, { group: "other", begin: "beginning" })
    await until("handled", () => other.events.length === 3)
  })

  test("runs in an application without a pipeline", async () => {
    const connection = memoryConnection()
    const post = await start(() => {}, {}, connection)
    await post("a")
    const { events, handler } = kept()
    const worker = new Application({ service: { logLevel: "silent" } })
    await using ended = new AsyncDisposableStack()
    ended.defer(() => worker.stop())
    worker.registerConnection("log", connection)
    worker.handle("log/t", handler, { group: "worker", begin: "beginning" })
    await worker.start()
    await post("b")
    await until("handled", () => events.length === 2)
  })

  test("of a log in memory is paused and resumed by the admin API", async () => {
    const admin = { host: "127.0.0.1", port: await freePort() }
    const { events, handler } = kept()
    const post = await start(handler, { group: "g" }, memoryConnection(), admin)
    const ask = (path: string, method = "GET"): Promise<Response> =>
      fetch(`http://127.0.0.1:${admin.port}/api/${path}`, { method })
    const forward = async (): Promise<Overview["forwards"][number]> =>
      ((await (await ask("overview")).json()) as Overview).forwards[0]!
    expect((await ask("forwards/g/pause", "POST")).status).toBe(204)
    await until("paused", async () => (await forward()).paused)
    await post("a")
    await until("waiting", async () => (await forward()).lag === 1)
    expect(events).toEqual([])
    expect((await ask("forwards/g/resume", "POST")).status).toBe(204)
    await until("handled", () => events.length === 1)
  })

  test("that throws or hangs is called again; an event that fails while others succeed is a dead letter", async () => {
    const connection = memoryConnection()
    const calls: string[] = []
    const signals: AbortSignal[] = []
    const post = await start(
      (event, { attempt, signal }) => {
        const { k } = event.json<{ k: string }>()
        calls.push(`${k} ${attempt} ${event.isRepeated}`)
        if (k === "poison") throw new Error("no such customer")
        if (k !== "slow" || attempt > 1) return undefined
        signals.push(signal)
        return new Promise(() => {})
      },
      { concurrency: 2, retries: 1, timeout: 200, deadLetter: "failed" },
      connection,
    )
    await post("slow", "poison", "b")
    await until("handled", () => connection.records("failed").length === 1)
    const [letter] = connection.records("failed")
    const headers = new Map(letter!.headers.map(([name, value]) => [name, Buffer.from(value).toString()]))
    expect(headers.get("hookline.errors.reason")).toBe("no such customer")
    await until("handled", () => calls.includes("slow 2 true"))
    expect(signals[0]!.aborted).toBe(true)
  })

  test("gets events in the order of the log, one at a time, also after one that fails", async () => {
    const connection = memoryConnection()
    const calls: string[] = []
    const post = await start(
      (event, { attempt }) => {
        const { k } = event.json<{ k: string }>()
        calls.push(k)
        if (k === "poison" || (k === "a" && attempt === 1)) throw new Error("no")
      },
      { retries: 1, deadLetter: "failed" },
      connection,
    )
    await post("a", "b", "poison", "c", "d")
    await until("handled", () => calls.includes("d"))
    expect(calls).toEqual(["a", "a", "b", "poison", "poison", "c", "d"])
    expect(connection.records("failed")).toHaveLength(1)
  })

  test("that answers after its deadline is called again, and what it answers then does not count", async () => {
    const calls: { readonly attempt: number; readonly answer: () => void }[] = []
    const post = await start(
      (_, { attempt }) => new Promise<void>((answer) => void calls.push({ attempt, answer })),
      { timeout: 200, retries: 9 },
    )
    await post("a")
    await until("a second call", () => calls.length === 2)
    calls[0]!.answer()
    // after the first one's answer, since nothing has counted as handled
    await until("a third call", () => calls.length === 3)
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    calls[2]!.answer()
    await app!.stop()
    const next = kept()
    const postAgain = await start(next.handler)
    await postAgain("b")
    await until("handled", () => next.events.length > 0)
    expect(next.events.map(({ offset }) => offset)).toEqual([1])
  })

  test("whose group another application has waits, and takes over when that one has stopped", async () => {
    const first = kept()
    const post = await start(first.handler)
    await post("a")
    await until("handled", () => first.events.length === 1)
    const second = kept()
    const other = new Application({ service: { logLevel: "silent" } })
    other.registerConnection("log", embeddedConnection({ directory: join(folder.path, "log") }))
    other.registerConnection("own", memoryConnection())
    other
      .addPipeline(
        new Pipeline("q", {
          source: webHookSource({ path: "/other" }),
          processors: [],
          sink: brokerSink({ connection: "own", topic: "t" }),
        }),
      )
      .handle("log/t", second.handler)
    await other.start({ listen: false })
    await post("b")
    await until("handled", () => first.events.length === 2)
    expect(second.events).toHaveLength(0)
    await post("c")
    await until("handled", () => first.events.length === 3)
    await app!.stop()
    app = other
    const last = new Application({ service: { logLevel: "silent" } })
    last.registerConnection("log", embeddedConnection({ directory: join(folder.path, "log") }))
    last.addPipeline(
      new Pipeline("p", {
        source: webHookSource({ path: "/in" }),
        processors: [],
        sink: brokerSink({ topic: "t" }),
      }),
    )
    await last.start({ listen: false })
    const request = new Request("http://localhost/in", { method: "POST", body: "{}" })
    expect((await last.fetch(request)).status).toBe(200)
    await until("taken over", () => second.events.length === 1)
    expect(second.events[0]!.offset).toBe(3)
    await last.stop()
  })

  test("is called by testHandler as it would be, and options that do not fit are refused", async () => {
    const { events, handler } = kept()
    await testHandler(handler, { a: 1 }, { key: "k", headers: { x: "y" }, isRepeated: true })
    expect(events).toMatchObject([{ key: "k", isRepeated: true }])
    expect(events[0]!.json()).toEqual({ a: 1 })
    const app = new Application().handle("log/t", handler)
    expect(() => app.handle("log/t", handler)).toThrow("has a handler already")
    expect(() => app.handle("log", handler)).toThrow("is not <connection>/<topic>")
    expect(() => app.handle("log/u", handler, { position: "transaction" })).toThrow("need each other")
    const unknown = new Application().handle("nowhere/t", handler)
    await expect(unknown.start({ listen: false })).rejects.toThrow('unknown connection "nowhere"')
  })
})
