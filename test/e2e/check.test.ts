import { expect, test } from "bun:test"
import { cpSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { withPemFiles } from "../support/certificate.ts"
import { Application } from "../../src/index.ts"
import { hooklineInProcess } from "../support/command-in-process.ts"
import { unexplained } from "../support/documents.ts"
import { hookline, folderOfTests } from "../support/hookline.ts"
import { checked } from "../support/problems-in.ts"

const folder = folderOfTests()

const root = join(import.meta.dir, "../..")
const files = [
  "pipelines.conf",
  ...readdirSync(join(root, "examples"))
    .filter((name) => name.endsWith(".conf"))
    .map((name) => `examples/${name}`),
  "examples/teams/pipelines.conf",
]

test.each(files)(
  "%s is right: check finds no problem, and warns of nothing that the file does not explain",
  async (file) => {
    cpSync(join(root, "examples"), join(folder.path, "examples"), { recursive: true })
    cpSync(join(root, file), join(folder.path, file))
    withPemFiles(readFileSync(join(root, file), "utf8"), dirname(join(folder.path, file)))
    const { error, problems } = await checked(join(folder.path, file))
    const text = readFileSync(join(root, file), "utf8")
    expect([error, unexplained(problems.warnings, text)]).toEqual([undefined, []])
  },
)

test("warns of what signatures leave open and of secrets that look wrong, at their lines, quotes none, and exits 0", async () => {
  const verifiers = [
    "provider = stripe\nsecret = sk_live_51Hexample0000000000",
    "provider = stripe\nsecret = $STRIPE_SECRET",
    "provider = stripe\nsecret = whsec_example000000000000 # the live one",
    "provider = stripe\nsecret = whsec_example000000000000, short",
    "provider = stripe\nsecret = whsec_example000000000000\ntolerance = 0",
    "provider = stripe\nsecret = whsec_example000000000000",
    "provider = paypal\nwebhook_id = 4JH86294D6297924G",
    "provider = paypal\nwebhook_id = 4JH86294D6297924G\nverify_online = true\nclient_id = a\nclient_secret = b",
    "provider = mailgun\nsecret = 00112233445566778899aabbccddeeff",
    "provider = gitlab\nsecret = glpat-00112233445566778899",
    "provider = meta\nsecret = 00112233445566778899aabbccddeeff",
    "provider = hubspot\nsecret = 00112233-4455-6677-8899-aabbccddeeff\nmin_version = 1",
    "provider = adyen\nsecret = 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
    "provider = twilio\nsecret = 00112233445566778899aabbccddeeff",
    "provider = mailgun\nmode = observe\nsecret = 00112233445566778899aabbccddeeff",
  ]
  const pipelines = verifiers.map(
    (verifier, i) =>
      `[pipeline:p${i}:WebHookSource]\npath = /p${i}\n[pipeline:p${i}:Verifier]\n${verifier}\n[pipeline:p${i}:BrokerSink]\ntopic = t\n`,
  )
  await Bun.write(
    join(folder.path, "warnings.conf"),
    `[connection:kafka]\nbootstrap_servers = localhost:9092\nspool = s.sqlite\n${pipelines.join("")}`,
  )
  const { status, stderr } = await hooklineInProcess(["check", "-c", "warnings.conf"], { cwd: folder.path })
  expect(status).toBe(0)
  expect(stderr).not.toMatch(/51Hexample|STRIPE_SECRET|example0|short|glpat|00112233|live one/)
  const lines = stderr
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/^warning: warnings\.conf:\d+: \[pipeline:(p\d+):Verifier\]/, "$1"))
  expect(lines).toEqual([
    "p0 secret: looks like an API key of Stripe; the endpoint's signing secret begins with whsec_",
    "p1 secret: looks like an unexpanded variable; write ${NAME}",
    "p2 secret: looks like a secret with a trailing comment; comments need a line of their own",
    "p3 secret: value 2 of 2: has 5 bytes, few enough to guess from one signed request; use at least 16 random bytes",
    "p4 provider: the time that stripe signs is not checked: a captured request can be sent again at any time; set tolerance",
    "p6 provider: paypal signs the body's CRC-32 only, which other bodies can match; set verify_online = true",
    "p6 provider: signed ids of paypal are kept in this process's memory, which a restart empties; add a Deduplicator with store = <folder> or redis://",
    "p8 provider: signed ids of mailgun are kept in this process's memory, which a restart empties; add a Deduplicator with store = <folder> or redis://",
    "warning: warnings.conf:71: [pipeline:p9:WebHookSource] max_body_bytes: gitlab sends up to 25 MiB; this pipeline takes 1 MiB, by the connection's max_request_bytes: larger events get 413; set max_body_bytes = 25MiB, and raise max.message.bytes of the topic",
    "p9 provider: gitlab signs nothing: who captures a request can send any body; give the webhook a signing token, and set provider = gitlab-signing-token",
    "p9 secret: looks like an access token of GitLab; the secret token is the webhook's own",
    "warning: warnings.conf:78: [pipeline:p10:WebHookSource] max_body_bytes: meta sends up to 3 MB; this pipeline takes 1 MiB, by the connection's max_request_bytes: larger events get 413; set max_body_bytes = 3MB, and raise max.message.bytes of the topic",
    "p10 verify_token: is not set: Meta's handshake, which confirms the endpoint, is refused; set the token that is entered at Meta",
    "p11 provider: with min_version hubspot signs no time: a captured request can be sent again at any time; remove min_version",
    "warning: warnings.conf:100: [pipeline:p13:WebHookSource] public_url: is not set: the host of the URL that twilio signs is taken from the Host header, which whoever sends a request chooses; set it to the URL that twilio posts to",
    "p14: VERIFICATION IS ONLY OBSERVED: unverified events are published; set mode = enforce",
  ])
})

test("a warning that many pipelines have is one sentence, with the names of some", async () => {
  const pipelines = Array.from(
    { length: 13 },
    (_, i) => `[pipeline:p${i}:WebHookSource]\nhost = 127.0.0.1\npath = /p${i}\n[pipeline:p${i}:Verifier]
provider = mollie\nsecret = not-a-real-secret-0001\nmode = ${i < 2 ? "observe" : "enforce"}
[pipeline:p${i}:BrokerSink]\ntopic = t\n`,
  )
  await Bun.write(join(folder.path, "alike.conf"), `[connection:log]\ndirectory = log\n${pipelines.join("")}`)
  const { status, stderr } = await hooklineInProcess(["check", "-c", "alike.conf"], { cwd: folder.path })
  expect(status).toBe(0)
  const again =
    "mollie signs no time: a captured request can be sent again at any time; a Deduplicator with key = json:/id takes each once"
  expect(stderr.trimEnd().split("\n")).toEqual([
    "warning: alike.conf:6: [pipeline:p0:Verifier]: VERIFICATION IS ONLY OBSERVED: unverified events are published; set mode = enforce; also pipeline p1",
    `warning: alike.conf:25: [pipeline:p2:Verifier] provider: ${again}; also pipelines p3, p4, p5, p6, p7, p8, p9, p10, p11 and p12`,
  ])
  const { stdout } = await hooklineInProcess(["check", "-c", "alike.conf", "--json"], { cwd: folder.path })
  expect((JSON.parse(stdout) as { warnings: unknown[] }).warnings).toHaveLength(13)
})

const [GENERIC, OWN_PROVIDERS] = [
  "hmac\nheader = X-Signature",
  `[provider:named]\nheader = X-Signature\nevent_id = header:X-Id
[provider:unnamed]\nheader = X-Signature\n`,
]
const AGAIN = "signs no time: a captured request can be sent again at any time"

test.each<[what: string, provider: string, more: string, warnings: readonly string[]]>([
  ["whose events have no id in the body", "github", "", []],
  ["whose events have no id in the body, deduplicated", "github", "[pipeline:a:Deduplicator]", []],
  ["whose events are not known to have an id", "meta\nverify_token = obviously-fake-token", "", []],
  [
    "whose ids are in the body",
    "mollie",
    "",
    [`mollie ${AGAIN}; a Deduplicator with key = json:/id takes each once`],
  ],
  ["whose ids are in the body, deduplicated", "mollie", "[pipeline:a:Deduplicator]", []],
  [
    "whose ids are in the body, deduplicated by a header",
    "mollie",
    "[pipeline:a:Deduplicator]\nkey = header:X-Request",
    [`mollie ${AGAIN}; a Deduplicator with key = json:/id takes each once`],
  ],
  ["that signs its events' form", "twilio", "", []],
  ["that signs some members", "adyen", "", []],
  ["that sends a token", "telegram", "", []],
  [
    "that sends a token where it could sign",
    "gitlab",
    "",
    [
      "gitlab signs nothing: who captures a request can send any body; give the webhook a signing token, and set provider = gitlab-signing-token",
    ],
  ],
  [
    "whose older signatures are accepted",
    "hubspot\nmin_version = 2",
    "",
    [`with min_version hubspot ${AGAIN}; remove min_version`],
  ],
  [
    "that only its configuration knows",
    GENERIC,
    "",
    [
      `hmac ${AGAIN}; where events have an id in the body, a Deduplicator by it (key = json:/...) takes each once`,
    ],
  ],
  [
    "that only its configuration knows, deduplicated",
    GENERIC,
    "[pipeline:a:Deduplicator]\nkey = json:/id",
    [],
  ],
  ["of one's own, with its ids in a header", "named", OWN_PROVIDERS, []],
  [
    "of one's own, without the place of its ids",
    "unnamed",
    OWN_PROVIDERS,
    [
      `unnamed ${AGAIN}; where events have an id in the body, a Deduplicator by it (key = json:/...) takes each once`,
    ],
  ],
])("of a sender %s, check warns of what the configuration can mend", async (_, provider, more, warnings) => {
  await Bun.write(
    join(folder.path, "mend.conf"),
    `[connection:log]
directory = log
[pipeline:a:WebHookSource]
path = /a
public_url = https://hooks.example.com
[pipeline:a:Verifier]
provider = ${provider}
secret = 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
[pipeline:a:BrokerSink]
topic = t
${more}
`,
  )
  const { plan, problems } = await Application.fromFile(join(folder.path, "mend.conf")).diagnose({
    alone: false,
  })
  expect([plan === undefined ? problems.lines : [], problems.allWarnings.map(({ text }) => text)]).toEqual([
    [],
    [...warnings],
  ])
})

test("what a signature leaves open is warned of beside the errors of other pipelines", async () => {
  await Bun.write(
    join(folder.path, "beside.conf"),
    `[connection:log]
directory = log
[pipeline:a:WebHookSource]
path = /a
[pipeline:a:Verifier]
provider = mollie
secret = not-a-real-secret-0001
[pipeline:a:BrokerSink]
topic = t
[pipeline:b:WebHookSource]
path = /b
[pipeline:b:Verifier]
provider = github
secret = not-a-real-secret-0001
mode = soon
[pipeline:b:BrokerSink]
topic = t
`,
  )
  const { stdout } = await hooklineInProcess(["check", "-c", "beside.conf", "--json"], { cwd: folder.path })
  expect(JSON.parse(stdout)).toMatchObject({
    problems: [{ section: "pipeline:b:Verifier", key: "mode" }],
    warnings: [{ section: "pipeline:a:Verifier", text: expect.stringContaining("mollie signs no time") }],
  })
})

test("a token endpoint that gets the client's secret unencrypted is a warning, unless it is on this machine", async () => {
  const check = async (url: string) => {
    await Bun.write(
      join(folder.path, "oauth.conf"),
      `[connection:kafka]
bootstrap_servers = localhost:9092
security_protocol = sasl_ssl
sasl_mechanism = OAUTHBEARER
sasl_oauth_token_endpoint = ${url}
sasl_oauth_client_id = hookline
sasl_oauth_client_secret = obviously-fake
[pipeline:a:WebHookSource]
[pipeline:a:BrokerSink]
topic = t
`,
    )
    return (await hooklineInProcess(["check", "-c", "oauth.conf"], { cwd: folder.path })).stderr
  }
  expect(await check("http://idp.example/token")).toContain(
    "warning: oauth.conf:5: [connection:kafka] sasl_oauth_token_endpoint: credentials and tokens are sent unencrypted; use an https URL",
  )
  expect(await check("http://localhost:8080/token")).not.toContain("unencrypted")
})

const VERIFICATION = `[connection:log]
directory = data

[pipeline:payments:WebHookSource]
path = /payments
[pipeline:payments:Verifier]
provider = stripe
secret = obviously-fake-1, obviously-fake-2
[pipeline:payments:BrokerSink]
topic = payments

[pipeline:alerts:WebHookSource]
path = /alerts
[pipeline:alerts:Verifier]
provider = basic
mode = observe
username = prometheus
password = obviously-fake-3
[pipeline:alerts:BrokerSink]
topic = alerts

[pipeline:partners:WebHookSource]
port = 8443
tls_certificate = node.pem
tls_key = node.key
tls_client_ca = partners.pem
[pipeline:partners:BrokerSink]
topic = partners

[pipeline:open:WebHookSource]
path = /open
[pipeline:open:BrokerSink]
topic = open
`

test("says of each pipeline whether and how it is verified, and no secret", async () => {
  await Bun.write(join(folder.path, "verification.conf"), VERIFICATION)
  withPemFiles(VERIFICATION, folder.path)
  const { status, stdout, stderr } = await hookline(["check", "-c", "verification.conf"], {
    cwd: folder.path,
  })
  expect([status, stderr.trimEnd().split("\n")]).toEqual([
    0,
    [
      "warning: verification.conf:14: [pipeline:alerts:Verifier]: VERIFICATION IS ONLY OBSERVED: unverified events are published; set mode = enforce",
      "warning: verification.conf:30: [pipeline:open:WebHookSource] host: NOT VERIFIED: every client of this address can publish; add a Verifier, tls_client_ca, or host = 127.0.0.1",
    ],
  ])
  expect(stdout).not.toContain("obviously-fake")
  expect(stdout.trimEnd().split("\n")).toEqual([
    `connection log: embedded log in ${folder.path}/data`,
    "payments: 0.0.0.0:8080/payments -> topic payments; verification: stripe (hmac, 2 secrets), mode enforce",
    "alerts: 0.0.0.0:8080/alerts -> topic alerts; verification: basic, mode observe",
    "partners: 0.0.0.0:8443/webhook -> topic partners; verification: client certificates",
    "open: 0.0.0.0:8080/open -> topic open; verification: none",
    "admin: 127.0.0.1:9464",
    "Configuration OK",
  ])
})

test("a file with only forwards is listed without an empty line", async () => {
  const forward = "[forward:shop]\nfrom = kafka/orders\nurl = http://localhost:3000/orders\n"
  await Bun.write(
    join(folder.path, "only-forward.conf"),
    `[connection:kafka]\nbootstrap_servers = localhost:9092\n${forward}`,
  )
  const { status, stdout } = await hooklineInProcess(["check", "-c", "only-forward.conf"], {
    cwd: folder.path,
  })
  expect([status, stdout.split("\n")]).toEqual([
    0,
    [
      "connection kafka: Kafka at localhost:9092 (plaintext)",
      "forward shop: kafka/orders -> http://localhost:3000/orders; signature: none",
      "admin: 127.0.0.1:9464",
      "Configuration OK",
      "",
    ],
  ])
})

test("says what is compared with a sender's list, and what is forwarded, without what a URL's query has", async () => {
  const file = `[connection:log]
directory = data
[pipeline:hooks:WebHookSource]
host = 127.0.0.1
[pipeline:hooks:Verifier]
provider = github
secret = obviously-fake-secret
[pipeline:hooks:BrokerSink]
topic = hooks
[reconcile:missed]
pipeline = hooks
credentials = obviously-fake-token
endpoint = repos/acme/app/hooks/7
[forward:shop]
from = log/hooks
url = http://localhost:3000/hooks?token=obviously-fake-token
`
  await Bun.write(join(folder.path, "forward.conf"), file)
  const { stdout } = await hooklineInProcess(["check", "-c", "forward.conf"], { cwd: folder.path })
  expect(stdout.split("\n").filter((line) => /^(?:reconcile|forward) /.test(line))).toEqual([
    "reconcile missed: pipeline hooks with what github lists",
    "forward shop: log/hooks -> http://localhost:3000/hooks?…; signature: none",
  ])
  const json = await hooklineInProcess(["check", "--json", "-c", "forward.conf"], { cwd: folder.path })
  expect(JSON.parse(json.stdout)).toMatchObject({
    reconciles: [{ id: "missed", pipeline: "hooks", provider: "github" }],
    forwards: [{ id: "shop", from: "log/hooks", sign: "none" }],
  })
  expect(stdout + json.stdout).not.toContain("obviously-fake")
})

const ROUTED = `[connection:log]
directory = data
[defaults:WebHookSource]
host = 127.0.0.1
[pipeline:lines:WebHookSource]
path = /lines
[pipeline:lines:Router]
by = json:/type
invoice.* = billing
customer.* = crm
invoices.* = billing
ping = drop
[pipeline:lines:BrokerSink]
topic = other
[pipeline:template:WebHookSource]
path = /template
[pipeline:template:Router]
topic = events.{json:/type}
topics = events.a*, events.b
[pipeline:template:BrokerSink]
topic = other
`

test("says which topics a Router may choose", async () => {
  await Bun.write(join(folder.path, "routed.conf"), ROUTED)
  const { stdout } = await hooklineInProcess(["check", "-c", "routed.conf"], { cwd: folder.path })
  expect(stdout.split("\n").filter((line) => line.includes(" -> "))).toEqual([
    "lines: 127.0.0.1:8080/lines -> topic other, routed to billing, crm; verification: none",
    "template: 127.0.0.1:8080/template -> topic other, routed to events.a*, events.b; verification: none",
  ])
  const json = await hooklineInProcess(["check", "--json", "-c", "routed.conf"], { cwd: folder.path })
  const { pipelines } = JSON.parse(json.stdout) as { pipelines: { routed: string[] }[] }
  expect(pipelines.map(({ routed }) => routed)).toEqual([
    ["billing", "crm"],
    ["events.a*", "events.b"],
  ])
})

test("says where a sample of the sender's events goes, by the steps before the Router and its own", async () => {
  const pipeline = (id: string, provider: string, more: string): string => `[pipeline:${id}:WebHookSource]
path = /${id}
[pipeline:${id}:Verifier]
provider = ${provider}
secret = obviously-fake-secret
${more}
[pipeline:${id}:BrokerSink]
topic = ${id}
`
  const router = (id: string, by: string, lines: string): string =>
    `[pipeline:${id}:Router]\nby = ${by}\n${lines}\nunsigned = true`
  const text = [
    "[connection:log]\ndirectory = data\n[defaults:WebHookSource]\nhost = 127.0.0.1\n",
    pipeline("several", "github", router("several", "header:X-GitHub-Event", "push = commits, audit")),
    pipeline("form", "twilio", router("form", "json:/From", "+* = sms")),
    pipeline("none", "github", router("none", "json:/action", "opened = issues")),
    pipeline("dropped", "github", router("dropped", "event:type", "push = drop")),
    pipeline(
      "filtered",
      "github",
      `[pipeline:filtered:Filter]\nwhen = event:type\nkeep = ping\n${router("filtered", "event:type", "* = all")}`,
    ),
    pipeline("unrouted", "github", ""),
    pipeline("unknown", "hmac", `header = x-signature\n${router("unknown", "json:/type", "* = all")}`),
  ].join("")
  await Bun.write(join(folder.path, "samples.conf"), text)
  const { stdout } = await hooklineInProcess(["check", "-c", "samples.conf"], { cwd: folder.path })
  const found = stdout.matchAll(/^(\w+): 127.*?(?:; (a sample .*))?$/gm)
  expect(Object.fromEntries([...found].map(([, id, sample]) => [id, sample]))).toEqual({
    several: "a sample of github (push) goes to commits, audit",
    form: "a sample of twilio goes to sms",
    none: "a sample of github (push) goes to none",
    dropped: "a sample of github (push) is not published (routed_to_drop)",
    filtered: "a sample of github (push) is not published (filtered)",
    unrouted: undefined,
    unknown: undefined,
  })
  const json = await hooklineInProcess(["check", "--json", "-c", "samples.conf"], { cwd: folder.path })
  const { pipelines } = JSON.parse(json.stdout) as { pipelines: { id: string; sample?: object }[] }
  expect(pipelines.find(({ id }) => id === "several")!.sample).toEqual({
    sender: "github",
    type: "push",
    topics: ["commits", "audit"],
  })
})
