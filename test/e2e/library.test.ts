import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import {
  Application,
  brokerSink,
  defineComponent,
  Dropped,
  embeddedConnection,
  enricher,
  option,
  Pipeline,
  Rejected,
  validator,
  webHookSource,
  type Event,
  type PipelineParts,
} from "../../src/index.ts"
import { readTopic } from "../../src/brokers/read-topic.ts"
import { openEmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { folderOfTests } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"

const folder = folderOfTests()

const quiet = { service: { logLevel: "silent" } } as const

function pipeline(id: string, parts: Partial<PipelineParts> & { path?: string } = {}): Pipeline {
  return new Pipeline(id, {
    source: webHookSource({ host: "127.0.0.1", port: 0, path: parts.path ?? "/" }),
    processors: parts.processors ?? [validator(), enricher()],
    sink: parts.sink ?? brokerSink({ topic: id }),
  })
}

async function read(directory: string, topic: string): Promise<string[]> {
  const reader = openEmbeddedReader(directory)
  try {
    const found: string[] = []
    const signal = new AbortController().signal
    for await (const { value } of readTopic(reader, topic, { from: "beginning", follow: false, signal })) {
      found.push(Buffer.from(value).toString())
    }
    return found
  } finally {
    await reader.close()
  }
}

describe("an application composed in code", () => {
  test("runs a component and a function of its user's own, in their order", async () => {
    const Limit = defineComponent({
      kind: "processor",
      name: "Limit",
      summary: "Refuses amounts over a limit.",
      options: {
        max: option.integer({ min: 0, max: 1_000_000, default: "100", doc: "The largest amount." }),
      },
      create:
        ({ max }) =>
        (event) => {
          const { amount } = JSON.parse(Buffer.from(event.body).toString()) as { amount: number }
          return amount > max ? new Rejected(422, "over_limit", "The amount is over the limit.") : event
        },
    })
    const directory = join(folder.path, "own")
    const app = new Application(quiet)
    app.registerConnection("log", embeddedConnection({ directory }))
    app.addPipeline(
      pipeline("own", {
        processors: [
          validator(),
          Limit({ max: 10 }),
          async (event) => {
            await Promise.resolve()
            return event.body.includes(0x21) ? new Dropped("shouted") : event
          },
          enricher(),
        ],
      }),
    )
    const { listening } = await app.start()
    const post = async (body: string): Promise<number> =>
      (await fetch(listening[0]!.url, { method: "POST", body })).status
    expect(await post('{"amount":10}')).toBe(200)
    expect(await post('{"amount":11}')).toBe(422)
    expect(await post('{"amount":1,"note":"!"}')).toBe(200)
    expect(await post("{}x")).toBe(400)
    await app.stop()

    const published = await read(directory, "own")
    expect(published).toHaveLength(1)
    expect(JSON.parse(published[0]!)).toMatchObject({ amount: 10, source: "webhook" })
  })

  test("keeps what steps after one that verifies refuse, as it came, and nothing else", async () => {
    const directory = join(folder.path, "letters")
    const verifies = Object.assign(
      (event: Event) => (event.request.query === "mine" ? event : new Rejected(401, "not_mine", "Not mine.")),
      { verifies: true },
    )
    const choose = async (event: Event): Promise<Event | Rejected | Dropped> => {
      const { want } = JSON.parse(Buffer.from(event.body).toString()) as { want: string }
      if (want === "ping") return new Dropped("ping")
      const status = Number(want)
      return status === 200 ? event : new Rejected(status, `wants_${want}`, "As it wants.")
    }
    const app = new Application(quiet)
    app.registerConnection("log", embeddedConnection({ directory }))
    app.addPipeline(
      pipeline("chosen", {
        processors: [verifies, validator(), enricher(), choose],
        sink: brokerSink({ topic: "chosen", deadLetterTopic: "chosen.dead" }),
      }),
    )
    const { listening } = await app.start()
    const send = async (query: string, body: string): Promise<number> =>
      (await fetch(`${listening[0]!.url}?${query}`, { method: "POST", body })).status
    for (const want of ["422", "429", "413", "401", "503", "200"]) {
      expect(await send("mine", `{"want":"${want}"}`)).toBe(Number(want))
    }
    expect(await send("mine", '{"want":"ping"}')).toBe(200)
    expect(await send("mine", "{")).toBe(400)
    expect(await send("", "{")).toBe(401)
    await app.stop()
    expect(await read(directory, "chosen.dead")).toEqual(['{"want":"422"}', "{"])
    expect(await read(directory, "chosen")).toHaveLength(1)
  })

  test("leaves nothing open when its start fails", async () => {
    using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
    const directory = join(folder.path, "retried")
    const attempt = (port: number): Application => {
      const app = new Application(quiet)
      app.registerConnection("log", embeddedConnection({ directory }))
      return app.addPipeline(
        new Pipeline("a", {
          source: webHookSource({ host: "127.0.0.1", port }),
          processors: [validator(), enricher()],
          sink: brokerSink({ topic: "a" }),
        }),
      )
    }
    expect(
      await attempt(other.port!)
        .start()
        .catch((error: unknown) => error),
    ).toMatchObject({ code: "listen" })
    const second = attempt(0)
    await second.start()
    await second.stop()
    await second.stop()
  })

  test("a stop during its start leaves nothing listening", async () => {
    const app = new Application(quiet)
    app.registerConnection("log", embeddedConnection({ directory: join(folder.path, "stopped-early") }))
    app.addPipeline(pipeline("early"))
    const starting = app.start()
    await app.stop()
    const { listening } = await starting
    await expect(fetch(listening[0]!.url, { method: "POST", body: "{}" })).rejects.toThrow()
    await app.start()
    await app.stop()
  })

  test("can be started again after a stop", async () => {
    const app = new Application(quiet)
    app.registerConnection("log", embeddedConnection({ directory: join(folder.path, "again") }))
    app.addPipeline(pipeline("again"))
    for (let round = 0; round < 2; round++) {
      const { listening } = await app.start()
      expect((await fetch(listening[0]!.url, { method: "POST", body: "{}" })).status).toBe(200)
      await app.stop()
    }
    expect(await read(join(folder.path, "again"), "again")).toHaveLength(2)
  })
})

test("the example of the library runs, publishes, and leaves pings out", async () => {
  const port = await freePort()
  const directory = join(folder.path, "example")
  const example = Bun.spawn([process.execPath, "examples/embed.ts", String(port), directory], {
    cwd: join(import.meta.dir, "../.."),
    stdout: "pipe",
    stderr: "inherit",
  })
  let log = ""
  for await (const chunk of example.stdout) {
    log += Buffer.from(chunk).toString()
    if (log.includes("listening")) break
  }
  const url = `http://127.0.0.1:${port}/webhook`
  for (const body of ['{"type":"ping"}', '{"type":"order","id":1}']) {
    expect((await fetch(url, { method: "POST", body })).status).toBe(200)
  }
  example.kill("SIGTERM")
  expect(await example.exited).toBe(0)
  const published = await read(directory, "webhooks")
  expect(published).toHaveLength(1)
  expect(JSON.parse(published[0]!)).toMatchObject({ type: "order", id: 1, source: "webhook" })
})
