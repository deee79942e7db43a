import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test"
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
import { temporaryFolder } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"

setDefaultTimeout(60_000)

let folder: ReturnType<typeof temporaryFolder>
let app: Application | undefined
beforeEach(() => {
  folder = temporaryFolder()
})
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
): Promise<(...keys: string[]) => Promise<void>> {
  const started = (app = new Application({ service: { logLevel: "silent" } }))
  started.registerConnection("log", connection)
  started
    .addPipeline(
      new Pipeline("p", {
        source: webHookSource({ path: "/in" }),
        processors: [],
        sink: brokerSink({ topic: "t", key: "json:/k", headers: ["kind=json:/k"] }),
      }),
    )
    .handle("log/t", handler, options)
  await started.start({ listen: false })
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
