import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import { folderOfTests } from "../../test/support/hookline.ts"
import { brokerSink } from "../components/broker-sink.ts"
import { components } from "../components/registry.ts"
import { validator } from "../components/validator.ts"
import { verifier } from "../components/verifier.ts"
import { webHookSource } from "../components/webhook-source.ts"
import { atOnce } from "../clock/slices.ts"
import type { Report } from "../verify/explain/report.ts"
import { defineProvider } from "../verify/presets/own-provider.ts"
import { memoryConnection } from "./connection-spec.ts"
import { explainRequest } from "./explain-request.ts"
import { Pipeline, type PipelineParts } from "./pipeline.ts"
import { makePlan } from "./plan/plan.ts"

const folder = folderOfTests()

const BODY = Buffer.from('{"id":1}')
const NOW = 1_790_000_000_000
const sign = (key: string): string => createHmac("sha256", key).update(BODY).digest("hex")
const github = (key: string) => verifier({ provider: "github", secret: key })
const NOT_KEPT = { body: undefined }
const acme = defineProvider("acme", { scheme: "hmac", header: ["X-Acme"] })

/** The report of a request with these headers to a pipeline with these processors. */
async function explained(
  processors: PipelineParts["processors"],
  headers: Record<string, string>,
  { body }: { body: Uint8Array | undefined } = { body: BODY },
): Promise<Report> {
  const pipeline = new Pipeline("p", {
    source: webHookSource({ host: "127.0.0.1" }),
    processors,
    sink: brokerSink({ topic: "t" }),
  })
  const connections = new Map([["memory", memoryConnection()]])
  const draft = { registry: components, cwd: folder.path, connections, pipelines: [pipeline] }
  const [planned] = atOnce(makePlan(draft)).pipelines
  const request = { method: "POST", url: "http://h/", path: "/", query: "", headers: new Headers(headers) }
  return explainRequest(planned!, { ...request, body }, NOW)
}

test("a request is checked with the pipeline's own secret, and the remedy names the pipeline", async () => {
  const headers = { "X-Hub-Signature-256": `sha256=${sign("a-secret-of-nobody")}` }
  expect(await explained([github("a-secret-of-nobody")], headers)).toMatchObject({ is_verified: true })
  const { is_verified, configuration } = await explained([github("a-secret-of-nobody ")], headers)
  expect([is_verified, configuration]).toEqual([
    false,
    "[pipeline:p:Verifier]\n# secret: the same, without the white space",
  ])
})

test("a custom provider is known", async () => {
  const own = [verifier({ provider: acme, secret: "a-secret-of-nobody" })]
  const report = await explained(own, { "X-Acme": sign("a-secret-of-nobody") })
  expect(report).toMatchObject({ provider: "acme", is_verified: true })
})

test("of several Verifiers the first that refuses it is reported, else the last", async () => {
  const both = [github("a-secret-of-nobody"), verifier({ provider: acme, secret: "an0ther-secret" })]
  const [right, wrong] = [sign("a-secret-of-nobody"), sign("wrong")]
  const sent = async (hub: string, own: string) => {
    const report = await explained(both, { "X-Hub-Signature-256": `sha256=${hub}`, "X-Acme": own })
    return [report.provider, report.is_verified]
  }
  expect(await sent(right, sign("an0ther-secret"))).toEqual(["acme", true])
  expect(await sent(right, wrong)).toEqual(["acme", false])
  expect(await sent(wrong, wrong)).toEqual(["github", false])
})

test("a pipeline without a Verifier has nothing to say", async () => {
  expect(await explained([validator()], {})).toMatchObject({
    provider: null,
    is_verified: false,
    result: "The pipeline has no Verifier: it does not check who sends.",
    steps: [],
  })
})

test("a secret that the provider sends first is read where it is stored", async () => {
  const file = join(folder.path, "asana-secret")
  const asana = [verifier({ provider: "asana", secretFile: file })]
  const headers = { "X-Hook-Signature": sign("a-secret-of-nobody") }
  expect(await explained(asana, headers)).toMatchObject({
    provider: "asana",
    result: expect.stringMatching(/^It can't be verified yet: secret: is missing/),
  })
  await Bun.write(file, "a-secret-of-nobody\n")
  expect(await explained(asana, headers)).toMatchObject({ is_verified: true })
})

test("a body that was not kept is said to be missing, unless the scheme needs none", async () => {
  const token = [verifier({ provider: "gitlab", secret: "a-secret-of-nobody" })]
  const headers = { "X-Gitlab-Token": "wrong", "X-Hub-Signature-256": `sha256=${sign("wrong")}` }
  expect(await explained([github("a-secret-of-nobody")], headers, NOT_KEPT)).toMatchObject({
    steps: [],
    result: expect.stringContaining("was not kept"),
  })
  expect(await explained(token, headers, NOT_KEPT)).toMatchObject({ reason: "no_match" })
})
