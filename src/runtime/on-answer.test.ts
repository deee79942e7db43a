import { afterEach, expect, test } from "bun:test"
import { brokerSink } from "../components/broker-sink.ts"
import { validator } from "../components/validator.ts"
import { verifier } from "../components/verifier.ts"
import { webHookSource } from "../components/webhook-source.ts"
import type { AnsweredRequest, OnAnswer } from "../pipeline/outcome-log.ts"
import { Application } from "./application.ts"
import { memoryConnection } from "./connection-spec.ts"
import { Pipeline, type PipelineParts } from "./pipeline.ts"

let app: Application | undefined
afterEach(() => app?.stop())

const start = (processors: PipelineParts["processors"], onAnswer: OnAnswer): Application => {
  app = new Application({ service: { logLevel: "silent" }, onAnswer })
  app.registerConnection("memory", memoryConnection())
  return app.addPipeline(
    new Pipeline("hooks", {
      source: webHookSource({ path: "/hooks" }),
      processors,
      sink: brokerSink({ topic: "hooks" }),
    }),
  )
}

const post = (path: string, body: string, headers = {}): Promise<Response> =>
  app!.fetch(new Request(`http://localhost${path}`, { method: "POST", body, headers }))

test("each request is reported once, with its outcome", async () => {
  const told: object[] = []
  const kept = ({ pipeline, request, event, bytes, status, outcome }: AnsweredRequest): void => {
    const what = outcome?.kind === "rejected" ? outcome.reason : outcome?.kind
    told.push([pipeline, request.path, event?.body.length, bytes, status, what])
  }
  const fails = (): never => {
    throw new Error("a fault")
  }
  start([verifier({ provider: "token", secret: "s", header: "X-Token" }), validator()], kept)
  await post("/hooks", '{"a":1}', { "X-Token": "s" })
  await post("/hooks", "[1]", { "X-Token": "s" })
  await post("/hooks", '{"a":1}')
  await post("/elsewhere", "{}")
  expect(told).toEqual([
    ["hooks", "/hooks", 7, 7, 200, "accepted"],
    ["hooks", "/hooks", 3, 3, 400, "not_an_object"],
    ["hooks", "/hooks", undefined, undefined, 401, "unverified_missing_header"],
    [undefined, "/elsewhere", undefined, undefined, 404, "unknown_path"],
  ])
  await app!.stop()
  told.length = 0
  start([fails], kept)
  await post("/hooks", "{}")
  expect(told).toEqual([["hooks", "/hooks", 2, 2, 500, undefined]])
})

test("an error of the callback changes no answer", async () => {
  start([validator()], () => {
    throw new Error("the callback's own")
  })
  expect((await post("/hooks", "{}")).status).toBe(200)
})
