import { expect, test } from "bun:test"
import { atOnce } from "../../clock/slices.ts"
import { components } from "../../components/registry.ts"
import { readConfigurationFile } from "../../config/file/configuration-file.ts"
import { makePlan, resolveDraft, type Plan } from "./plan.ts"

const JWT = "provider = jwt\nissuer = https://idp.example\naudience = hookline\n"
const HMAC = "provider = hmac\nheader = X-Signature\nsecret = example-not-a-secret\n"
const LISTEN = "kafka_listen = 127.0.0.1:9092\n"
const EU = "public_url = https://hooks.example.com\n"

/** The warnings of a key, of a file with one pipeline. */
function warningsOf(key: string, { connection = "", source = "", verifier = "", more = "" }): string[] {
  const file = `[connection:log]
directory = log
${connection}
${more}
[pipeline:p:WebHookSource]
${source}
[pipeline:p:Verifier]
${verifier || HMAC}
[pipeline:p:BrokerSink]
topic = t
`
  const configuration = atOnce(
    readConfigurationFile(Buffer.from(file), "f.conf", { env: {}, baseDir: "/nowhere" }),
  )
  const { problems } = atOnce(resolveDraft({ configuration, registry: components, cwd: "/nowhere" }))
  expect(problems.lines).toEqual([])
  return problems.allWarnings.filter((it) => it.key === key).map(({ text }) => text)
}

const twilio = "provider = twilio\nsecret = 00112233445566778899aabbccddeeff\n"
const FROM_HOST = (name: string): string =>
  `is not set: the host of the URL that ${name} signs is taken from the Host header, which whoever sends a request chooses; set it to the URL that ${name} posts to`

test.each([
  ["twilio", { verifier: twilio }, [FROM_HOST("twilio")]],
  ["square", { verifier: "provider = square\nsecret = example-not-a-secret" }, [FROM_HOST("square")]],
  ["hubspot", { verifier: "provider = hubspot\nsecret = example-not-a-secret" }, [FROM_HOST("hubspot")]],
  ["trello", { verifier: "provider = trello\nsecret = example-not-a-secret" }, [FROM_HOST("trello")]],
  ["an HMAC over the URL", { verifier: `${HMAC}payload = {url}{body}` }, [FROM_HOST("hmac")]],
  ["an HMAC over the body", { verifier: HMAC }, []],
  [
    "a proxy before twilio",
    { verifier: twilio, source: "trusted_proxies = 192.0.2.1" },
    [FROM_HOST("twilio")],
  ],
  ["twilio and public_url", { verifier: twilio, source: EU }, []],
  ["twilio and public_url for all", { verifier: twilio, more: `[defaults:WebHookSource]\n${EU}` }, []],
])("a signed URL whose host is the request's is warned of: %s", (_, given, warnings) => {
  expect(warningsOf("public_url", given)).toEqual(warnings)
})

const BY_TYPE = (name: string): string =>
  `auto has the Content-Type, which ${name} does not sign, say what a signed body is: a text of a captured request could be sent again as a form; set format to what ${name} sends: json, form, multipart or text`
const AUTO = "[pipeline:p:Decoder]\nformat = auto\n"

test.each([
  ["an HMAC", { more: AUTO }, [BY_TYPE("hmac")]],
  ["by default", { more: "[pipeline:p:Decoder]\nlists = split\n" }, [BY_TYPE("hmac")]],
  ["stripe", { verifier: "provider = stripe\nsecret = whsec_example", more: AUTO }, [BY_TYPE("stripe")]],
  ["a form", { more: AUTO.replace("auto", "form") }, []],
  ["no Decoder", {}, []],
  [
    "github, which sends forms and JSON",
    { verifier: "provider = github\nsecret = example-not-a-secret", more: AUTO },
    [],
  ],
  [
    "coinbase, which signs the Content-Type",
    { verifier: "provider = coinbase\nsecret = example-not-a-secret", more: AUTO },
    [],
  ],
  ["twilio, which signs the form", { verifier: twilio, source: EU, more: AUTO }, []],
  [
    "a token, which signs nothing",
    { verifier: "provider = token\nheader = X\nsecret = example-not-a-secret", more: AUTO },
    [],
  ],
])("a signed body that its Content-Type may make a form is warned of: %s", (_, given, warnings) => {
  expect(warningsOf("format", given)).toEqual(warnings)
})

const UNENCRYPTED =
  "the keys are fetched unencrypted, so that they can be exchanged on the way; use an https URL"

test.each([
  ["http://idp.example/jwks.json", [UNENCRYPTED]],
  ["HTTP://IDP.example/jwks.json", [UNENCRYPTED]],
  ["http://192.0.2.1/jwks.json", [UNENCRYPTED]],
  ["http://127.0.0.1:8080/jwks.json", []],
  ["http://localhost/jwks.json", []],
  ["https://idp.example/jwks.json", []],
])("keys of tokens that are fetched without TLS from another machine are warned of: %s", (url, warnings) => {
  expect(warningsOf("jwks_url", { verifier: `${JWT}jwks_url = ${url}` })).toEqual(warnings)
})

test.each([
  [
    LISTEN,
    ["every user of this machine can read all topics, and move and delete consumer groups; set kafka_users"],
  ],
  [`${LISTEN}kafka_users = billing:obviously-fake`, []],
  ["kafka_listen = off", []],
  ["", []],
])("a listener for Kafka clients that needs no password is warned of: %p", (connection, warnings) => {
  expect(warningsOf("kafka_listen", { connection })).toEqual(warnings)
})

const REPLICAS =
  "[admin]\nreplicas = 127.0.0.1:9464, 127.0.0.1:9465\nreplicas_token = obviously-fake-token-of-replicas\n"
const SHARED = "[service]\nreuse_port = on\n"
const KAFKA = "[connection:broker]\nbootstrap_servers = kafka:9092\n"
const PIPELINE = "[pipeline:p:WebHookSource]\n[pipeline:p:BrokerSink]\ntopic = t\n"
const DEDUPE = "[pipeline:p:Deduplicator]\nkey = json:/id\n"

function planOf(file: string, before?: Plan): Plan {
  const read = readConfigurationFile(Buffer.from(file), "f.conf", { env: {}, baseDir: "/nowhere" })
  const draft = { configuration: atOnce(read), registry: components, cwd: "/nowhere" }
  return atOnce(makePlan(draft, before))
}

function problemsIn(file: string, before?: Plan): readonly string[] {
  try {
    planOf(file, before)
    return []
  } catch (error) {
    return (error as Error).message.split("\n").map((line) => line.replace(/^f\.conf:\d+: /, ""))
  }
}

test.each<[what: string, file: string, problems: readonly string[]]>([
  ["Kafka, and no state", KAFKA + PIPELINE + REPLICAS + SHARED, []],
  [
    "without replicas",
    KAFKA + PIPELINE + SHARED,
    [
      "[service] reuse_port: takes replicas in [admin]: instances that share ports are replicas of each other; list the admin listener of each, or set reuse_port = off",
    ],
  ],
  [
    "an embedded log",
    `[connection:broker]\ndirectory = log\n${PIPELINE}${REPLICAS}${SHARED}`,
    [
      "[connection:broker] directory: an embedded log is one process's, and [service] reuse_port = on; publish to Kafka, or set reuse_port = off",
    ],
  ],
  [
    "a spool",
    `${KAFKA}spool = spool.sqlite\n${PIPELINE}${REPLICAS}${SHARED}`,
    [
      "[connection:broker] spool: a spool is one process's, and [service] reuse_port = on; set spool = off, or set reuse_port = off",
    ],
  ],
  [
    "any port",
    `${KAFKA}${PIPELINE.replace("Source]\n", "Source]\nport = 0\n")}${REPLICAS}${SHARED}`,
    [
      "[pipeline:p:WebHookSource] port: 0 would be another port in each instance, and [service] reuse_port = on; name a port, or set reuse_port = off",
    ],
  ],
  [
    "a store of one process",
    `${KAFKA}${PIPELINE}${DEDUPE}${REPLICAS}${SHARED}`,
    [
      "[pipeline:p:Deduplicator] store: is one replica's, and [admin] replicas names several: a delivery that is repeated to another one would be published twice; set store = redis://..., the same for all",
    ],
  ],
  ["a store of all", `${KAFKA}${PIPELINE}${DEDUPE}store = redis://127.0.0.1\n${REPLICAS}${SHARED}`, []],
])("instances that share ports share nothing else of the machine: %s", (_, file, problems) => {
  expect(problemsIn(file)).toEqual([...problems])
})

test("replicas that a reload adds are refused where a pipeline that did not change keeps something by itself", () => {
  const file = KAFKA + PIPELINE + DEDUPE
  const [problem, ...more] = problemsIn(file + REPLICAS, planOf(file))
  expect([problem, more]).toEqual([
    expect.stringContaining("[pipeline:p:Deduplicator] store: is one replica's"),
    [],
  ])
})

test("where the system does not spread connections, ports are not shared", () => {
  const { platform } = process
  Object.defineProperty(process, "platform", { value: "darwin" })
  try {
    expect(problemsIn(KAFKA + PIPELINE + REPLICAS + SHARED)).toEqual([
      "[service] reuse_port: takes Linux, which spreads connections over the instances; elsewhere one of them gets all: set reuse_port = off",
    ])
  } finally {
    Object.defineProperty(process, "platform", { value: platform })
  }
})

test("options of workers, which there are no more, are named with what to do", () => {
  expect(problemsIn(`${KAFKA}${PIPELINE}[service]\nworkers = 1\nstall_timeout = 5s\n`)).toEqual([
    "[service] workers: was removed: remove the line; several processes on one port are instances with reuse_port = on, see instances.md",
    "[service] stall_timeout: was removed with workers: remove the line; whatever starts an instance watches that it answers, see instances.md",
  ])
})
