import { beforeAll, expect, test } from "bun:test"
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import type { CaptureSummary, ReplayOverview } from "../../src/admin/api/shapes.ts"
import { AdminApi } from "../support/admin-api.ts"
import { sharedByTests } from "../support/hookline.ts"
import { blocksOf } from "../support/documents.ts"
import { serverSentEvents } from "../support/sse.ts"
import { hasTestPackages } from "../support/tools.ts"

// The API's own description is valid OpenAPI 3.1, and every answer of every operation is as it says.

interface Operation {
  readonly operationId: string
  readonly responses: {
    readonly [status: string]: {
      readonly content?: { readonly [type: string]: { readonly schema: object } }
    }
  }
}
interface Document {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly schemas: { readonly [name: string]: object } }
}

const configuration = `
[connection:log]
directory = log
[pipeline:payments:WebHookSource]
[pipeline:payments:Verifier]
provider = stripe
secret = not-a-real-secret-000
[pipeline:payments:BrokerSink]
topic = payments
[forward:shop]
from = log/payments
url = http://127.0.0.1:9/
[admin]
listen = 127.0.0.1:0
capture = all
`
const it = sharedByTests(() => AdminApi.start(configuration))
let document: Document
const called = new Set<string>()
beforeAll(async () => {
  document = await it.get<Document>("openapi.json")
  for (let n = 0; n < 3; n++) {
    const body = JSON.stringify({ id: `evt_${n}`, type: "charge.failed" })
    await it.post("send", { pipeline: "payments", body })
    await it.send("payments", { "Stripe-Signature": "t=1,v1=00" }, body)
  }
})

/** Calls an operation; its answer is of a status, a type and a form that the document gives it. */
async function call(method: string, path: string, asked: string, body?: unknown): Promise<unknown> {
  const operation = document.paths[path]?.[method.toLowerCase()]
  if (operation === undefined) throw new Error(`${method} ${path} is not described`)
  called.add(`${method} ${path}`)
  const response = await it.fetch(asked, {
    method,
    ...(body !== undefined && {
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  })
  const described = operation.responses[response.status]
  const { content } = described ?? operation.responses["default"]!
  if (response.status === 204) {
    expect(described).toBeDefined()
    return undefined
  }
  const type = response.headers.get("content-type")!.split(";")[0]!
  const schema = content![type]?.schema
  if (schema === undefined) throw new Error(`${method} ${path} answers ${response.status} with ${type}`)
  const value: unknown = await response.json()
  fits(schema, value, `${method} ${asked}`)
  return value
}

let ajv: Ajv2020 | undefined
const validators = new Map<object, ValidateFunction>()
/** The schema, with its references to those of `document`. */
const within = (schema: object, document: string): object =>
  JSON.parse(JSON.stringify(schema).replaceAll("#/components/schemas/", `${document}#/$defs/`)) as object

function fits(schema: object, value: unknown, where: string): void {
  ajv ??= new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true }).addSchema(
    within({ $defs: document.components.schemas }, ""),
    "document",
  )
  const isValid = validators.getOrInsertComputed(schema, () => ajv!.compile(within(schema, "document")))
  expect([where, isValid(value), isValid.errors]).toEqual([where, true, null])
}

test.skipIf(!hasTestPackages())("the document is valid OpenAPI 3.1", async () => {
  const { Validator } = await import("@seriousme/openapi-schema-validator")
  const validator = new Validator()
  const { valid, errors } = await validator.validate(structuredClone({ ...document }))
  expect([valid, errors]).toEqual([true, undefined])
  expect(validator.version).toBe("3.1")
  const operations = Object.values(document.paths).flatMap((it) => Object.values(it))
  const ids = operations.map(({ operationId }) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
})

async function overviewAndTopics(): Promise<void> {
  await call("GET", "/api/openapi.json", "openapi.json")
  await call("GET", "/api/overview", "overview")
  await call("GET", "/api/overview", "overview?pipelines=false")
  await call("GET", "/api/activity", "activity")
  await call("GET", "/api/pipelines/{id}", "pipelines/payments")
  await call("GET", "/api/pipelines/{id}", "pipelines/none")
  await call("GET", "/api/topics", "topics")
}

async function records(): Promise<void> {
  await call("GET", "/api/records", "records?connection=log&topic=payments&limit=2")
  await call("GET", "/api/records", "records?connection=log&topic=none")
  await call("GET", "/api/records", "records?connection=log&limit=2")
  await call("GET", "/api/records/counts", "records/counts?connection=log&topic=payments")
  await call("GET", "/api/groups", "groups")
  const one = "/api/records/{connection}/{topic}/{partition}/{offset}"
  await call("GET", one, "records/log/payments/0/0")
  await call("GET", one, "records/log/payments/0/99")
}

async function captures(): Promise<void> {
  const listed = (await call("GET", "/api/captures", "captures?limit=500")) as CaptureSummary[]
  expect(new Set(listed.map(({ outcome }) => outcome))).toEqual(new Set(["accepted", "rejected"]))
  for (const { id } of listed) {
    await call("GET", "/api/captures/{id}", `captures/${id}`)
    await call("GET", "/api/captures/{id}/explanation", `captures/${id}/explanation`)
  }
  await call("GET", "/api/reasons", "reasons")
  await call("GET", "/api/captures/{id}", "captures/last?unmasked=true")
  await call("GET", "/api/captures/{id}", "captures/none")
  await call("POST", "/api/captures/{id}/resend", "captures/last/resend")
}

async function liveEvents(): Promise<void> {
  const streams = [
    ["/api/live", "live", "capture"],
    ["/api/records/live", "records/live?connection=log&topic=payments", "records"],
  ] as const
  for (const [path, asked, last] of streams) {
    called.add(`GET ${path}`)
    const { schema } = document.paths[path]!["get"]!.responses["200"]!.content!["text/event-stream"]!
    const { oneOf: forms = [schema as { title: string }] } = schema as { oneOf?: { title: string }[] }
    for await (const { name, data } of serverSentEvents(`${it.running.adminUrl}/api/${asked}`)) {
      fits(
        forms.find(({ title }) => title === name)!,
        data,
        name,
      )
      if (name === last) break
      await it.post("send", { pipeline: "payments", body: '{"id":"evt_live"}' })
    }
  }
}

async function samplesAndProviders(): Promise<void> {
  await call("GET", "/api/samples/{pipeline}", "samples/payments")
  await call("GET", "/api/providers", "providers")
  await call("POST", "/api/send", "send", { pipeline: "payments", body: "{}" })
  await call("POST", "/api/send", "send", { pipeline: "none", body: "{}" })
  const text = "Stripe-Signature: t=1,v1=00\n\n{}"
  await call("POST", "/api/verify", "verify", { text, pipeline: "payments" })
  await call("POST", "/api/verify", "verify", { text: "none" })
}

async function replays(): Promise<void> {
  const request = {
    from: { connection: "log", topic: "payments", where: "json:/type=charge.failed" },
    to: { connection: "log", topic: "copy" },
    rate: 1,
  }
  await call("POST", "/api/replays/count", "replays/count", { from: request.from })
  const { id } = (await call("POST", "/api/replays", "replays", request)) as ReplayOverview
  for (const change of ["pause", "resume", "cancel", "resume"])
    await call("POST", `/api/replays/{id}/${change}`, `replays/${id}/${change}`)
  await call("GET", "/api/replays", "replays")
  await call("GET", "/api/replays/claims", "replays/claims")
  await call("GET", "/api/replays/{id}", `replays/${id}`)
}

async function forwards(): Promise<void> {
  for (const id of ["shop", "none"])
    for (const change of ["pause", "resume"])
      await call("POST", `/api/forwards/{id}/${change}`, `forwards/${id}/${change}`)
}

async function problems(): Promise<void> {
  await call("GET", "/api/problems", "problems")
  await call("GET", "/api/mutes", "mutes")
  const by = { by: "ana" }
  await call("POST", "/api/problems/{id}/acknowledge", "problems/none/acknowledge", by)
  await call("POST", "/api/problems/{id}/mute", "problems/silent:payments/mute", by)
  await call("POST", "/api/problems/{id}/mute", "problems/none/mute", by)
  await call("GET", "/api/mutes", "mutes")
  await call("POST", "/api/problems/{id}/unmute", "problems/silent:payments/unmute")
}

async function logLevelAndSessions(): Promise<void> {
  await call("GET", "/api/log-level", "log-level")
  await call("PUT", "/api/log-level", "log-level", { level: "debug" })
  await call("PUT", "/api/log-level", "log-level", { level: "loud" })
  await call("POST", "/api/reload", "reload")
  await call("POST", "/api/reload", "reload?replica=127.0.0.1:9")
  await call("POST", "/api/session", "session", { token: "any" })
  await call("GET", "/api/session", "session")
  await call("DELETE", "/api/session", "session")
  await call("DELETE", "/api/captures", "captures")
}

const described = (): string[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )

test("every operation of the document answers as it says", async () => {
  const areas = [
    overviewAndTopics,
    records,
    captures,
    liveEvents,
    samplesAndProviders,
    replays,
    forwards,
    problems,
    logLevelAndSessions,
  ]
  for (const callAll of areas) await callAll()
  expect([...called].toSorted()).toEqual(described().toSorted())
})

test("a method that a path does not have is answered 405, and Allow names those that it has", async () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    const has = Object.keys(methods).map((method) => method.toUpperCase())
    const allowed = has.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].filter(
      (it) => !has.includes(it),
    )) {
      const response = await it.fetch(path.slice("/api/".length).replaceAll(/\{\w+\}/g, "0"), { method })
      expect([method, path, response.status, response.headers.get("allow")?.split(", ").toSorted()]).toEqual([
        method,
        path,
        405,
        allowed.toSorted(),
      ])
      expect(response.headers.get("content-type")).toBe("application/problem+json")
      expect(await response.json()).toMatchObject({ type: "urn:hookline:error:api_method_not_allowed" })
    }
  }
})

test("docs/admin.md has a command for each operation", () => {
  const commands = blocksOf("docs/admin.md").flatMap(({ language, text }) =>
    language === "sh" ? text.split("\n").filter((line) => line.startsWith("curl ")) : [],
  )
  const shown = commands.map((line) => {
    const [, path] = /http:\/\/localhost:9464(\/[^\s"?]*)/.exec(line)!
    const method = /-X (\w+)/.exec(line)?.[1] ?? (line.includes(" -d '") ? "POST" : "GET")
    return `${method} ${path}`
  })
  const lacking = described().filter((operation) => {
    const form = new RegExp(`^${operation.replace(/\{\w+\}/g, "[^/]+")}$`)
    return !shown.some((it) => form.test(it))
  })
  expect(lacking).toEqual([])
})
