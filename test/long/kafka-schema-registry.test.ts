import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import {
  hookline,
  reload,
  startHookline,
  temporaryFolder,
  type RunningHookline,
} from "../support/hookline.ts"
import { canStartKafka, startStrictKafka, type OwnKafka } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { freePort } from "../support/ports.ts"
import { canStartRegistry, startRegistry, type TestRegistry } from "../support/registry-app.ts"

const TOPICS = ["payments", "letters", "versions", "refs", "routed-a", "routed-b", "cached"]

/** Members that the Enricher adds. */
const ADDED = { received_at: { type: "string" }, source: { const: "webhook" } }
const PAYMENT = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  required: ["amount"],
  properties: { amount: { type: "integer" }, ...ADDED },
  additionalProperties: false,
}

const available = (await canStartKafka()) && hasKcat() && canStartRegistry()
describe.skipIf(!available)("a Schema Registry", () => {
  const folder = temporaryFolder()
  let kafka: OwnKafka
  let registry: TestRegistry
  let running: RunningHookline

  const send = async (pipeline: string, body: string, { urls } = running) => {
    const headers = { "X-Token": "fake" }
    const response = await fetch(urls[pipeline]!, { method: "POST", body, headers })
    const text = await response.text()
    return { status: response.status, detail: text === "" ? "" : String(JSON.parse(text).detail) }
  }
  const readiness = async ({ adminUrl } = running) => {
    const response = await fetch(`${adminUrl}/readyz`)
    return { status: response.status, text: await response.text() }
  }
  const pipeline = (id: string, sink = "", more = ""): string => `[pipeline:${id}:WebHookSource]
[pipeline:${id}:Verifier]
provider = token
header = X-Token
secret = fake
${more}[pipeline:${id}:BrokerSink]
topic = ${id}
${sink}
`
  const configuration = (registryUrl: string, ...pipelines: string[]): string => `[connection:kafka]
bootstrap_servers = ${kafka.bootstrapServers.join(",")}
[defaults:BrokerSink]
value_format = json-schema
registry_url = ${registryUrl}
registry_refresh = 200ms
${pipelines.join("\n")}`

  beforeAll(async () => {
    kafka = await startStrictKafka(TOPICS)
    registry = await startRegistry()
    for (const topic of ["payments", "versions"]) await registry.register(`${topic}-value`, PAYMENT)
    const pipelines = [
      pipeline("payments", "key = json:/amount\ndead_letter_topic = letters"),
      pipeline("versions"),
      pipeline("refs"),
      pipeline("routed-a", "", "[pipeline:routed-a:Router]\nby = json:/kind\nb = routed-b\n"),
    ]
    running = await startHookline(configuration(registry.url, ...pipelines), { folder: folder.path })
    for (const topic of ["payments", "versions"])
      await running.logged(({ msg, subject }) => msg === "schema in use" && subject === `${topic}-value`)
  })
  afterAll(async () => {
    await running.stop()
    await registry.stop()
    await kafka.stop()
    folder[Symbol.dispose]()
  })

  test("events get 503 while no schema is known, and one that is stays in use through a reload and an outage", async () => {
    const own = folder.make("cached")
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/apis/ccompat/v7`
    const sink = "key = json:/amount"
    await using running = await startHookline(configuration(url, pipeline("cached", sink)), { folder: own })
    const check = () => hookline(["check", "--connect", "-c", `${own}/pipelines.conf`])
    const { status } = await send("cached", '{"amount":1}', running)
    expect(status).toBe(503)
    const line = await running.logged(({ msg }) => msg.startsWith("schema registry unavailable"))
    expect(line).toMatchObject({ level: "error", reason: "connection refused" })
    // Kafka's own problems come first
    while (!(await readiness(running)).text.includes("schema registry")) await Bun.sleep(50)
    const { status: ready, text } = await readiness(running)
    expect([ready, text]).toEqual([
      503,
      expect.stringContaining("schema registry is unavailable: connection refused"),
    ])
    const checked = await check()
    expect(checked.status).toBe(69)
    expect(checked.stdout).toContain(`schema registry ${url}: can't be used: connection refused`)

    await using registry = await startRegistry(port)
    const missing = await running.logged(
      ({ subject, level }) => subject === "cached-value" && level === "error",
    )
    expect(missing).toMatchObject({ reason: "is not registered" })
    expect((await check()).stdout).toContain("subject cached-value is not registered")
    await registry.register("cached-value", PAYMENT)
    await running.logged(({ msg, subject }) => msg === "schema in use" && subject === "cached-value")
    expect(await send("cached", '{"amount":2}', running)).toMatchObject({ status: 200 })

    await registry.stop()
    await running.logged(({ msg }) => msg.endsWith("cached schemas stay in use"))
    expect(await send("cached", '{"amount":3}', running)).toMatchObject({ status: 200 })
    expect(await reload(running, own, configuration(url, pipeline("cached", "key = path")))).toBe("reloaded")
    expect(await send("cached", '{"amount":4}', running)).toMatchObject({ status: 200 })
    expect(await readiness(running)).toMatchObject({ status: 200 })
  })

  test("an event that matches is published after 0 and the schema's id, and the registry knows it by that", async () => {
    expect(await send("payments", '{"amount": 12 }')).toMatchObject({ status: 200 })
    const [record] = await readWithKcat(kafka, "payments")
    const { value, key } = record!
    expect(String(key)).toBe("12")
    expect(value[0]).toBe(0)
    expect(value.subarray(5).toString()).toStartWith('{"amount": 12 ,"received_at":"')
    // as a deserializer does: by the id, whatever the subject
    const response = await fetch(`${registry.url}/schemas/ids/${value.readUInt32BE(1)}`)
    const { schema, schemaType } = (await response.json()) as { schema: string; schemaType: string }
    expect(schemaType).toBe("JSON")
    expect(JSON.parse(schema)).toEqual(PAYMENT)
    expect(JSON.parse(value.subarray(5).toString())).toMatchObject({ amount: 12, source: "webhook" })
    const tailed = await hookline([
      "tail",
      "payments",
      "--format",
      "value",
      "-c",
      `${folder.path}/pipelines.conf`,
    ])
    expect(tailed.stdout).toBe(`${value.subarray(5).toString()}\n`)
  })

  test("one that does not match gets 400 with the reason, and is a dead letter as it came", async () => {
    const { status, detail } = await send("payments", '{"amount":"12"}')
    expect([status, detail]).toEqual([
      400,
      "The body does not match the schema: /amount does not satisfy #/properties/amount/type.",
    ])
    const letters = await readWithKcat(kafka, "letters")
    expect(letters.map(({ value }) => value.toString())).toEqual(['{"amount":"12"}'])
    expect(letters[0]!.headers).toContain("schema_mismatch")
  })

  test("a later version is followed, and one that is no usable schema is not", async () => {
    const before = await readWithKcat(kafka, "versions")
    const id = await registry.register("versions-value", {
      ...PAYMENT,
      properties: { ...PAYMENT.properties, currency: { type: "string" } },
    })
    await running.logged(({ schema_id }) => schema_id === id)
    expect(await send("versions", '{"amount":1,"currency":"CZK"}')).toMatchObject({ status: 200 })
    const records = await readWithKcat(kafka, "versions")
    expect(records).toHaveLength(before.length + 1)
    expect(records.map(({ value }) => value.readUInt32BE(1))).toContain(id)
    await registry.register("versions-value", {
      ...PAYMENT,
      $schema: "http://json-schema.org/draft-04/schema#",
    })
    const line = await running.logged(({ msg }) => msg.startsWith("latest schema not usable"))
    expect(String(line["reason"])).toContain("$schema at # is none of the drafts")
    expect(await send("versions", '{"amount":1,"currency":"CZK"}')).toMatchObject({ status: 200 })
  })

  test("a schema's references are fetched", async () => {
    await registry.register("money", {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      required: ["amount"],
    })
    await registry.register(
      "refs-value",
      { $schema: "http://json-schema.org/draft-07/schema#", type: "object", allOf: [{ $ref: "money.json" }] },
      [{ name: "money.json", subject: "money", version: 1 }],
    )
    await running.logged(({ msg, subject }) => msg === "schema in use" && subject === "refs-value")
    expect(await send("refs", "{}")).toMatchObject({ status: 400 })
    expect(await send("refs", '{"amount":1}')).toMatchObject({ status: 200 })
  })

  test("each topic that a Router chooses has a subject of its own; the others' events pass without it", async () => {
    const schema = { $schema: "http://json-schema.org/draft-07/schema#", type: "object", required: ["kind"] }
    await registry.register("routed-a-value", schema)
    await running.logged(({ msg, subject }) => msg === "schema in use" && subject === "routed-a-value")
    expect(await send("routed-a", '{"kind":"a","a":1}')).toMatchObject({ status: 200 })
    expect(await send("routed-a", '{"kind":"b","a":1}')).toMatchObject({ status: 503 })
    expect(await readiness()).toEqual({
      status: 200,
      text: expect.stringContaining("the subject routed-b-value is not registered"),
    })
    await registry.register("routed-b-value", schema)
    await running.logged(({ msg, subject }) => msg === "schema in use" && subject === "routed-b-value")
    expect(await send("routed-a", '{"kind":"b"}')).toMatchObject({ status: 200 })
  })
})
