import { expect, test } from "bun:test"
import { atOnce } from "../../clock/slices.ts"
import { components } from "../../components/registry.ts"
import { readConfigurationFile } from "../../config/file/configuration-file.ts"
import { planOf, resolveDraft } from "../../runtime/plan/plan.ts"
import { ledgerIn } from "./ledger-database.ts"
import { sectionKinds } from "../registry.ts"
import type { PlannedReconcile } from "./plan.ts"

/** The provider that a `[reconcile:…]` section of its pipeline is planned with. */
function planned(provider: string, endpoint: string): string | undefined {
  const file = `[connection:main]
directory = log
[pipeline:p:WebHookSource]
[pipeline:p:Verifier]
provider = ${provider}
secret = whsec_ZXhhbXBsZS1ub3QtYS1zZWNyZXQ
[pipeline:p:BrokerSink]
topic = t
[reconcile:r]
pipeline = p
${endpoint}
credentials = obviously-fake
`
  const configuration = atOnce(
    readConfigurationFile(new TextEncoder().encode(file), "f.conf", {
      env: {},
      baseDir: "/",
      kinds: sectionKinds,
    }),
  )
  const resolved = atOnce(resolveDraft({ configuration, registry: components, cwd: "/" }))
  const [first] = atOnce(planOf(resolved)).extensions.get("reconcile")!.planned as PlannedReconcile[]
  return first?.provider
}

const RESEND = "endpoint = 4dd369bc-aa82-4ff3-97de-514ae3000ee0"
test.each([
  ["gitlab", "endpoint = projects/1/hooks/2"],
  ["gitlab-signing-token", "endpoint = projects/1/hooks/2"],
  ["resend", RESEND],
])("%s: a pipeline of it can be reconciled", (provider, endpoint) => {
  expect(planned(provider, endpoint)).toBe(provider)
})

test.each([
  ["resend", "", "endpoint: is missing; add endpoint = <webhook id>, a UUID"],
  ["resend", "endpoint = msg_1", "endpoint: is not <webhook id>, a UUID"],
  ["gitlab-signing-token", RESEND, "endpoint: is not projects/<id>/hooks/<id> or groups/<id>/hooks/<id>"],
  [
    "svix",
    RESEND,
    "pipeline: is of svix, whose API lists no deliveries; it can be reconciled with one of github",
  ],
])("%s with %j: %s", (provider, endpoint, problem) => {
  expect(() => planned(provider, endpoint)).toThrow(problem)
})

const SEVERAL = "and [admin] replicas names several"
const DEDUPE = "[pipeline:p:Deduplicator]\nkey = json:/id\n"
const RECONCILE =
  "[reconcile:github]\npipeline = p\nendpoint = repos/a/b/hooks/1\ncredentials = obviously-fake\n"

/** The warnings of a pipeline of GitHub's to Kafka, without their places. */
function warningsOf(sections: string): string[] {
  const file = `[connection:kafka]
bootstrap_servers = kafka:9092
[pipeline:p:WebHookSource]
max_body_bytes = 25MiB
[pipeline:p:Verifier]
provider = github
secret = example-not-a-secret-0
[pipeline:p:BrokerSink]
topic = t
${sections}
`
  const bytes = new TextEncoder().encode(file)
  const environment = { env: {}, baseDir: "/", kinds: sectionKinds }
  const configuration = atOnce(readConfigurationFile(bytes, "f.conf", environment))
  const { problems } = atOnce(resolveDraft({ configuration, registry: components, cwd: "/" }))
  return problems.warnings.map((line) => line.replace(/^f\.conf:\d+: \[(.*?)\] /, "$1 "))
}

const REPLICAS = "[admin]\nreplicas = dns:hookline:9464\nreplicas_token = obviously-fake-replicas-token\n"

test.each<[what: string, sections: string, way: string | undefined]>([
  ["without a Deduplicator", RECONCILE, "add a Deduplicator with store = redis://... to p"],
  ["with one", `${DEDUPE}${RECONCILE}`, "set store = redis://... in [pipeline:p:Deduplicator]"],
  ["in a shared store", `${DEDUPE}store = redis://127.0.0.1\n${RECONCILE}`, undefined],
])("check warns of replicas that reconcile each by itself: %s", (_, sections, way) => {
  const isOfReplicas = (line: string): boolean => line.startsWith("reconcile:github")
  const text = `reconcile:github pipeline: is reconciled by each replica, ${SEVERAL}: each asks for events that another one has; ${way}, or give this section to one replica`
  expect(warningsOf(`${sections}${REPLICAS}`).filter(isOfReplicas)).toEqual(way === undefined ? [] : [text])
  expect(warningsOf(sections).filter(isOfReplicas)).toEqual([])
})

test("a ledger that another process holds leads replicas to a store that they share", () => {
  expect(ledgerIn("/f", "github").alternative).toContain(
    "replicas of one service share a Deduplicator with store = redis://",
  )
})

test("reconciling is a way to get back what an outage of the broker loses, and then it loses nothing", () => {
  expect(warningsOf("")).toEqual([
    "pipeline:p:Verifier provider: github does not send again after 503: an outage of the broker loses events; set spool of connection kafka, or add [reconcile:github]",
  ])
  expect(warningsOf(RECONCILE)).toEqual([])
})
