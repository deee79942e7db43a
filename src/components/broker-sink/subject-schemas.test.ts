import { afterEach, beforeEach, expect, test } from "bun:test"
import { HANG_MS } from "../../../test/support/hang.ts"
import { steadyMs } from "../../clock/clock.ts"
import { SchemaRegistry } from "./schema-registry.ts"
import { SubjectSchemas } from "./subject-schemas.ts"
import { pino } from "pino"

type Answer = { readonly status: number; readonly body: unknown }

let answers: { [subject: string]: Answer }
let most: number
let open: number
let authorization: string | null
let hold: Promise<void> | undefined
let server: Bun.Server<undefined>
let schemas: SubjectSchemas

const version = (id: number, schema: object, more: object = {}): Answer => {
  const body = { subject: "s", id, version: id, schemaType: "JSON", schema: JSON.stringify(schema), ...more }
  return { status: 200, body }
}

beforeEach(() => {
  answers = {}
  most = open = 0
  hold = undefined
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch({ url, headers }) {
      most = Math.max(most, ++open)
      authorization = headers.get("Authorization")
      await hold
      open--
      const subject = decodeURIComponent(new URL(url).pathname.split("/")[2]!)
      const { status, body } = answers[subject] ?? { status: 404, body: { error_code: 40401 } }
      return Response.json(body, { status })
    },
  })
  const access = { url: `${server.url}`, username: "a", password: "obviously-fake", ca: undefined }
  schemas = new SubjectSchemas(new SchemaRegistry(access), 60_000, pino({ level: "silent" }))
})
afterEach(async () => {
  schemas.close()
  await server.stop(true)
})

const wait = (topic: string, ms = HANG_MS) => schemas.wait(topic, steadyMs() + ms)

test("events of a topic wait for its first fetch, of which one is under way at a time, with credentials", async () => {
  answers = { "a/b-value": version(1, {}), "b-value": version(2, {}) }
  schemas.prepare(["a/b", "b"])
  expect(schemas.current("a/b")).toBeUndefined()
  const found = await Promise.all([wait("a/b"), wait("b")])
  expect(found).toMatchObject([{ id: 1 }, { id: 2 }])
  expect(schemas.current("b")).toMatchObject({ id: 2, version: 2 })
  expect(most).toBe(1)
  expect(authorization).toBe(`Basic ${Buffer.from("a:obviously-fake").toString("base64")}`)
  expect(schemas.missing()).toEqual([])
})

test("an event waits no longer than its deadline", async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  hold = promise
  expect(await wait("a", 20)).toBe("the schema of a-value is not fetched yet")
  resolve()
})

test.each<[string, Answer, string]>([
  [
    "is not registered",
    { status: 404, body: { error_code: 40401 } },
    "the subject a-value is not registered",
  ],
  [
    "is of another type",
    version(1, {}, { schemaType: undefined }),
    "the subject a-value has a schema of type AVRO, not JSON",
  ],
  [
    "is of an old draft",
    version(1, { $schema: "http://json-schema.org/draft-04/schema#" }),
    "none of the drafts 2020-12, 2019-09 and draft-07",
  ],
  [
    "has a pattern of unbounded time",
    version(1, { properties: { a: { pattern: "(?=a)" } } }),
    "is not a usable JSON Schema",
  ],
  [
    "is unknown to what is no registry",
    { status: 404, body: {} },
    "HTTP 404; is registry_url the registry's API?",
  ],
  [
    "is not for this client",
    { status: 401, body: { error_code: 401 } },
    "the schema registry is unavailable: HTTP 401; check registry_username and registry_password",
  ],
  ["has an id of more than 4 bytes", version(2 ** 32, {}), "the answer has no schema"],
])("a topic whose schema %s is missing, and says why", async (_, answer, problem) => {
  answers = { "a-value": answer }
  schemas.prepare(["a"])
  expect(await wait("a")).toContain(problem)
  expect(schemas.missing()).toMatchObject([{ topic: "a", problem: expect.stringContaining(problem) }])
})

test.each<[string, object, boolean]>([
  [
    "2020-12",
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      properties: { a: { prefixItems: [{ type: "string" }] } },
    },
    true,
  ],
  [
    "2019-09",
    {
      $schema: "https://json-schema.org/draft/2019-09/schema",
      properties: { a: { items: [{ type: "string" }] } },
    },
    true,
  ],
  [
    "draft-07",
    {
      $schema: "http://json-schema.org/draft-07/schema#",
      properties: { a: { items: [{ type: "string" }] } },
    },
    true,
  ],
  ["draft-07 by default", { properties: { a: { items: [{ type: "string" }] } } }, true],
  [
    "draft-07, where prefixItems is unknown",
    { properties: { a: { prefixItems: [{ type: "string" }] } } },
    false,
  ],
])("a schema of %s is taken by its draft", async (_, schema, judges) => {
  answers = { "a-value": version(1, schema) }
  const found = await wait("a")
  if (typeof found === "string") throw new Error(found)
  expect(found.findMismatch(Buffer.from('{"a":["x"]}'))).toBeUndefined()
  expect(found.findMismatch(Buffer.from('{"a":[1]}')) !== undefined).toBe(judges)
})
