import { describe, expect, test } from "bun:test"
import * as fc from "fast-check"
import { defineComponent, type Component } from "../../components/define-component.ts"
import { integer, path, size, text } from "../../config/options/option-types.ts"
import { readConfigurationFile } from "../../config/file/configuration-file.ts"
import { HooklineError } from "../../errors.ts"
import { embeddedConnection, kafkaConnection } from "../connection-spec.ts"
import { makePlan, type Draft, type Plan } from "./plan.ts"
import { atOnce } from "../../clock/slices.ts"

// Components with as much of the real ones' options as the plan knows of.
const create = (): never => {
  throw new Error("a plan creates nothing")
}
const Source = defineComponent({
  kind: "source",
  name: "WebHookSource",
  summary: "",
  options: {
    port: integer({ min: 0, max: 65_535, default: "8080", doc: "" }),
    path: text({ default: "/webhook", doc: "" }),
    host: text({ default: "0.0.0.0", doc: "" }),
    max_body_bytes: size({ default: "1MiB", doc: "" }),
    tls_certificate: path({ optional: true, doc: "" }),
    tls_key: path({ optional: true, doc: "" }),
  },
  create,
})
const processor = (name: string) =>
  defineComponent({
    kind: "processor",
    name,
    summary: "",
    options: { mode: text({ default: "on", doc: "" }) },
    create,
  })
const Validator = processor("Validator")
const Deduplicator = processor("Deduplicator")
const Enricher = processor("Enricher")
const Sink = defineComponent({
  kind: "sink",
  name: "BrokerSink",
  aliases: ["KafkaSink"],
  summary: "",
  options: { topic: text({ doc: "", form: "a topic name" }), connection: text({ optional: true, doc: "" }) },
  create,
})
const registry = [Source, Validator, Deduplicator, Enricher, Sink] as unknown as readonly Component[]

function plan(file: string | undefined, draft: Partial<Draft> = {}): Plan {
  const configuration =
    file === undefined
      ? undefined
      : atOnce(
          readConfigurationFile(new TextEncoder().encode(file), "p.conf", {
            env: { SECRET: "hunter2" },
            baseDir: "/etc/hookline",
          }),
        )
  return atOnce(makePlan({ configuration, registry, cwd: "/srv", ...draft }))
}

function problems(file: string | undefined, draft: Partial<Draft> = {}): string[] {
  try {
    plan(file, draft)
  } catch (error) {
    if (!(error instanceof HooklineError) || error.code !== "config") throw error
    return error.message.split("\n")
  }
  return []
}

const KAFKA = "[connection:kafka]\nbootstrap_servers = k:9092\n"
/** A pipeline in four lines. */
const pipeline = (id: string, source = "", sink = ""): string =>
  `[pipeline:${id}:WebHookSource]\n${source}\n[pipeline:${id}:BrokerSink]\ntopic = t${sink}\n`

describe("a plan of the file", () => {
  test("the smallest file", () => {
    const { connections, pipelines, admin, service } = plan(KAFKA + pipeline("webhooks"))
    expect([...connections]).toMatchObject([
      [
        "kafka",
        {
          kind: { name: "kafka" },
          values: {
            bootstrap_servers: ["k:9092"],
            security_protocol: "plaintext",
            compression_type: "none",
            client_id: "hookline",
            delivery_timeout: 5000,
          },
        },
      ],
    ])
    expect(pipelines).toHaveLength(1)
    expect(pipelines[0]).toMatchObject({
      id: "webhooks",
      source: { component: Source, values: { port: 8080, path: "/webhook", host: "0.0.0.0" } },
      processors: [{ component: Validator }, { component: Enricher }],
      sink: { component: Sink, values: { topic: "t" } },
    })
    expect(admin).toEqual({
      listen: { host: "127.0.0.1", port: 9464 },
      capture_max_requests: 200,
      capture_max_bytes: 16 * 1024 * 1024,
      metrics_detail: ["auto"] as readonly string[],
    } as Plan["admin"])
    expect(service).toEqual({
      reuse_port: "off",
      max_in_flight_bytes: undefined,
      max_connections: undefined,
      shutdown_delay: 0,
      drain_timeout: 20_000,
      body_timeout: 30_000,
      redis: undefined,
      redis_ca: undefined,
      log_level: "info",
      log_format: "auto",
    })
  })

  test("a file that was written for BitSwan", () => {
    const file = `[connection:KafkaConnection]
bootstrap_servers=
  kafka-1:9092
  kafka-2:9092

[pipeline:WebhookToKafkaPipeline:WebHookSource]
port=8080
path=/webhook

[pipeline:WebhookToKafkaPipeline:KafkaSink]
topic=incoming-webhooks
`
    const { connections, pipelines } = plan(file)
    expect(connections.get("KafkaConnection")?.values).toMatchObject({
      bootstrap_servers: ["kafka-1:9092", "kafka-2:9092"],
    })
    expect(pipelines[0]?.sink).toMatchObject({ component: Sink, values: { topic: "incoming-webhooks" } })
  })

  test("a processor is present when its section is, in the registry's order", () => {
    const { pipelines } = plan(
      `${KAFKA}${pipeline("a")}[pipeline:a:Deduplicator]\n[pipeline:a:Validator]\nmode = off`,
    )
    expect(pipelines[0]?.processors).toMatchObject([
      { component: Validator, values: { mode: "off" } },
      { component: Deduplicator },
      { component: Enricher, values: { mode: "on" } },
    ])
  })

  test("an embedded connection, its folder from the file's", () => {
    const { connections } = plan(`[connection:log]\ndirectory = data\nretention = 7d\n${pipeline("a")}`)
    expect(connections.get("log")).toMatchObject({
      kind: { name: "embedded" },
      values: {
        directory: "/etc/hookline/data",
        retention: 604_800_000,
        retention_bytes: Number.POSITIVE_INFINITY,
        delivery_timeout: 5000,
      },
    })
  })

  test("several connections, pipelines, ports and paths", () => {
    const connections = `${KAFKA}[connection:log]\ndirectory = data\n[connection:log2]\ndirectory = data2\n`
    const pipelines = [
      pipeline("a", "path = /a", "\nconnection = kafka"),
      pipeline("b", "path = /a/*", "\nconnection = log"),
      pipeline("c", "port = 8081\nhost = 127.0.0.1", "\nconnection = log"),
      pipeline("d", "port = 8081\nhost = 127.0.0.2", "\nconnection = log"),
      pipeline("e", "port = 0", "\nconnection = log"),
      pipeline("f", "port = 0", "\nconnection = log"),
    ]
    expect(problems(connections + pipelines.join(""))).toEqual([])
  })
})

describe("[defaults:<Component>]", () => {
  test("gives keys to sections that lack them, by any of the component's names, and to no pipeline a component", () => {
    const file = `${KAFKA}[defaults:KafkaSink]
topic = shared
[defaults:Deduplicator]
mode = off
[defaults:Enricher]
mode = other
[defaults:connection]
client_id = shared
retention = 1h
${pipeline("a", "path = /a").replace("topic = t", "")}${pipeline("b", "path = /b", "\n[pipeline:b:Deduplicator]")}`
    const { connections, pipelines } = plan(file)
    expect(connections.get("kafka")!.values).toMatchObject({ client_id: "shared" })
    expect(connections.get("kafka")!.values).not.toHaveProperty("retention")
    expect(pipelines.map(({ sink }) => sink.values.topic)).toEqual(["shared", "t"])
    const named = pipelines.map(({ processors }) =>
      processors.map((it) => typeof it !== "function" && [it.component.title, it.values.mode]),
    )
    expect(named).toEqual([
      [
        ["Validator", "on"],
        ["Enricher", "other"],
      ],
      [
        ["Validator", "on"],
        ["Deduplicator", "off"],
        ["Enricher", "other"],
      ],
    ])
  })

  test("gives way to code", () => {
    const file = "[defaults:WebHookSource]\nport = 1\npath = /file\n"
    const source = Source({ path: "/code" })
    const pipelines = [{ id: "a", source, processors: [], sink: Sink({ topic: "t" }) }]
    const connections = new Map([["log", embeddedConnection({ directory: "log" })]])
    expect(plan(file, { pipelines, connections }).pipelines[0]!.source.values).toMatchObject({
      port: 1,
      path: "/code",
    })
  })

  test("a wrong default is reported once, where it stands, also where nothing uses it", () => {
    const file = `${KAFKA}${pipeline("a", "path = /a")}${pipeline("b", "path = /b")}[defaults:WebHookSource]
port = none
prot = 1
[defaults:Deduplicator]
mode =
[defaults:BrokerSink]
[defaults:KafkaSink]
[defaults:Sink]
[defaults:connection]
bootstrap = k:9092
[defaults:a:b]
`
    const lines = problems(file).map((line) => line.replace(/^p\.conf:\d+: /, ""))
    expect(lines).toEqual([
      '[defaults:WebHookSource] port: "none" is not a whole number from 0 to 65535',
      "[defaults:WebHookSource] prot: unknown key; did you mean `port`?",
      "[defaults:Deduplicator] mode: is empty; expected a text, or remove the key",
      "[defaults:KafkaSink]: is the same section as [defaults:BrokerSink]; move its keys to line 16",
      expect.stringContaining("[defaults:Sink]: unknown component"),
      expect.stringContaining("[defaults:connection] bootstrap: unknown key"),
      "[defaults:a:b]: invalid section name; write [defaults:<Component>], or [defaults:connection]",
    ])
  })
})

describe("a plan of code", () => {
  const connections = new Map([["kafka", kafkaConnection({ bootstrapServers: ["k:9092"] })]])
  const parts = { source: Source({ path: "/code" }), processors: [], sink: Sink({ topic: "code" }) }

  test("without a file", () => {
    const step = (): never => create()
    const pipelines = [{ ...parts, id: "a", processors: [Enricher(), step] }]
    const made = plan(undefined, {
      connections,
      pipelines,
      admin: { listen: "off" },
      service: { drainTimeout: 1 },
    })
    expect(made).toMatchObject({
      pipelines: [
        {
          id: "a",
          source: { component: Source, values: { path: "/code", port: 8080 } },
          processors: [{ component: Enricher, values: { mode: "on" } }, step],
          sink: { component: Sink, values: { topic: "code" } },
        },
      ],
      admin: { listen: "off" },
      service: { drain_timeout: 1, body_timeout: 30_000 },
    })
    expect(made.connections.get("kafka")?.kind.name).toBe("kafka")
  })

  test("the file gives defaults to what code registers, and adds its own", () => {
    const file = `[connection:kafka]
client_id = file
[pipeline:a:WebHookSource]
port = 1
path = /file
[pipeline:a:Special]
mode = off
${pipeline("b")}`
    const special = processor("Special")
    const made = plan(file, { connections, pipelines: [{ ...parts, id: "a", processors: [special()] }] })
    expect(made.connections.get("kafka")?.values).toMatchObject({
      bootstrap_servers: ["k:9092"],
      client_id: "file",
    })
    expect(made.pipelines).toMatchObject([
      { id: "a", source: { values: { port: 1, path: "/code" } }, processors: [{ values: { mode: "off" } }] },
      { id: "b", source: { values: { port: 8080 } } },
    ])
  })

  test("what is wrong in code and between code and file", () => {
    const file = "[pipeline:a:Validator]\n[connection:kafka]\ndirectory = x"
    const pipelines = [
      { ...parts, id: "a", sink: Sink({ topic: "t", connection: "kafak" }) },
      { ...parts, id: "b", sink: Sink({ topic: undefined as never }) },
      { ...parts, id: "b" },
    ]
    expect(problems(file, { connections, pipelines })).toEqual([
      "p.conf:1: [pipeline:a:Validator]: is not a component of this pipeline, which is composed in code; remove the section",
      "p.conf:2: [connection:kafka]: has both bootstrap_servers (Kafka) and directory (the embedded log); keep one of them",
      'in code: pipeline "b": duplicate pipeline id; rename one of them',
      'in code: pipeline "b", brokerSink, option topic: is missing; it is a topic name',
      'in code: pipeline "a", brokerSink, option connection: unknown connection "kafak"; did you mean "kafka"?',
      'in code: pipeline "b", webHookSource, option path: port and path are those of pipeline "a" (in code); give one of them another path or port',
    ])
  })

  test.each([null, "127.0.0.1:70000", { host: "a", port: 70_000 }, { host: "::1]", port: 1 }, { port: 1 }])(
    "an admin listener can't be at %p",
    (listen) => {
      const admin = { listen } as unknown as NonNullable<Draft["admin"]>
      expect(problems(KAFKA + pipeline("a"), { admin })).toEqual([
        'in code: admin, option listen: is not "host:port", { host, port } or "off"',
      ])
    },
  )

  test("a connection that is not registered is named together with its pipeline", () => {
    const pipelines = [{ ...parts, id: "a", sink: Sink({ topic: "t", connection: "kafka" }) }]
    expect(problems(undefined, { pipelines })).toEqual([
      'in code: pipeline "a", brokerSink, option connection: unknown connection "kafka"; add one by app.registerConnection(id, connection), with kafkaConnection({ bootstrapServers }) or embeddedConnection({ directory }) or postgresConnection({ postgres })',
    ])
  })

  test("an option of the other kind of connection is said to be one", () => {
    const given = { directory: "/log", saslUsername: "me", connectionsMaxIdle: "1m" }
    const wrong = new Map([["log", embeddedConnection(given)]])
    expect(problems("", { connections: wrong }).filter((line) => line.includes('"log"'))).toEqual([
      'in code: connection "log", embeddedConnection, option saslUsername: is an option of Kafka connections only; remove it',
      'in code: connection "log", embeddedConnection, option connectionsMaxIdle: is an option of Kafka connections only; remove it',
    ])
  })
})

describe("pipelines", () => {
  test.each<[name: string, file: string, problems: string[]]>([
    [
      "none at all",
      KAFKA,
      ["p.conf: no pipeline; add [pipeline:webhooks:WebHookSource] and [pipeline:webhooks:BrokerSink]"],
    ],
    [
      "a missing topic",
      `${KAFKA}${pipeline("a")}`.replace("topic = t", ""),
      ["p.conf:5: [pipeline:a:BrokerSink] topic: is missing; add topic = <a topic name>"],
    ],
    [
      "no sink",
      `${KAFKA}[pipeline:a:WebHookSource]`,
      ["p.conf:3: [pipeline:a]: has no sink; add [pipeline:a:BrokerSink]"],
    ],
    [
      "no source",
      `${KAFKA}[pipeline:a:BrokerSink]\ntopic = t`,
      ["p.conf:3: [pipeline:a]: has no source; add [pipeline:a:WebHookSource]"],
    ],
    [
      "an unknown component, which may be the one that misses",
      `${KAFKA}[pipeline:a:WebhookSource]\n[pipeline:a:BrokerSink]\ntopic = t`,
      ["p.conf:3: [pipeline:a:WebhookSource]: unknown component; did you mean WebHookSource?"],
    ],
    [
      "an unknown component next to the known ones",
      `${KAFKA}${pipeline("a")}[pipeline:a:Transformer]`,
      [
        "p.conf:7: [pipeline:a:Transformer]: unknown component; expected WebHookSource, Validator, Deduplicator, Enricher, BrokerSink or KafkaSink; or name the module that defines it with --components",
      ],
    ],
    [
      "a section under two names of its component",
      `${KAFKA}${pipeline("a")}[pipeline:a:KafkaSink]`,
      [
        "p.conf:7: [pipeline:a:KafkaSink]: is the same section as [pipeline:a:BrokerSink]; move its keys to line 5",
      ],
    ],
    [
      "a section of a pipeline as a whole, as BitSwan has it",
      `${KAFKA}[pipeline:a]`,
      [
        "p.conf:3: [pipeline:a]: missing component; write [pipeline:<id>:<Component>], such as [pipeline:a:BrokerSink]",
      ],
    ],
    [
      "a port out of range",
      `${KAFKA}${pipeline("a", "port = 70000")}`,
      ['p.conf:4: [pipeline:a:WebHookSource] port: "70000" is not a whole number from 0 to 65535'],
    ],
    [
      "a body limit beyond the process's",
      `[service]\nmax_in_flight_bytes = 1KiB\n${KAFKA}${pipeline("a")}`,
      [
        "p.conf:5: [pipeline:a:WebHookSource] max_body_bytes: is more than [service] max_in_flight_bytes, so that the largest bodies would never be accepted; lower it, or raise that",
      ],
    ],
    [
      "a section name that hides a pipeline",
      `${KAFKA}[pipline:a:WebHookSource]`,
      ["p.conf:3: [pipline:a:WebHookSource]: unknown section; did you mean [pipeline:<id>:<Component>]?"],
    ],
  ])("%s", (_, file, expected) => {
    expect(problems(file)).toEqual(expected)
  })
})

describe("connections", () => {
  const kafka = (keys: string): string => `${KAFKA}${keys}\n${pipeline("a")}`
  const WAYS =
    "with bootstrap_servers = <host:port> for Kafka, or directory = <folder> for the embedded log, or postgres = <URL> for PostgreSQL"

  test.each<[name: string, file: string, problems: string[]]>([
    [
      "none at all, reported once",
      pipeline("a") + pipeline("b", "path = /b"),
      [`p.conf:3: [pipeline:a:BrokerSink]: no connection to publish on; add [connection:kafka] ${WAYS}`],
    ],
    [
      "metrics of a pipeline that is none",
      `${KAFKA}${pipeline("abc")}[admin]\nmetrics_detail = abc, abd, auto\n`,
      [
        'p.conf:8: [admin] metrics_detail: unknown pipeline "abd"; did you mean abc?',
        'p.conf:8: [admin] metrics_detail: unknown pipeline "auto"; did you mean auto, all or none?',
      ],
    ],
    [
      "none of the named id",
      `${KAFKA}${pipeline("a", "", "\nconnection = kafak")}`,
      ['p.conf:7: [pipeline:a:BrokerSink] connection: unknown connection "kafak"; did you mean "kafka"?'],
    ],
    [
      "none of an id like it",
      `${KAFKA}${pipeline("a", "", "\nconnection = production")}`,
      ['p.conf:7: [pipeline:a:BrokerSink] connection: unknown connection "production"; expected "kafka"'],
    ],
    [
      "none of an id that was put in",
      `${KAFKA}${pipeline("a", "", "\nconnection = ${SECRET}")}`,
      ['p.conf:7: [pipeline:a:BrokerSink] connection: unknown connection id; expected "kafka"'],
    ],
    [
      "several and none named",
      `${KAFKA}[connection:log]\ndirectory = data\n${pipeline("a")}`,
      [
        "p.conf:7: [pipeline:a:BrokerSink] connection: is missing and there are several connections; it is one of kafka or log",
      ],
    ],
    [
      "both kinds",
      kafka("directory = data\ncompression_typ = gzip\nretention = 1"),
      [
        "p.conf:1: [connection:kafka]: has both bootstrap_servers (Kafka) and directory (the embedded log); keep one of them",
        "p.conf:4: [connection:kafka] compression_typ: unknown key; did you mean `compression_type`?",
        'p.conf:5: [connection:kafka] retention: "1" is not a duration such as 500ms, 5s, 2m, 24h or 7d',
      ],
    ],
    [
      "neither kind",
      `[connection:kafka]\nclient_id = me\n${pipeline("a")}`,
      [
        "p.conf:1: [connection:kafka]: has none of bootstrap_servers, directory and postgres; add bootstrap_servers = <host:port> for Kafka, or directory = <folder> for the embedded log, or postgres = <URL> for PostgreSQL",
      ],
    ],
    [
      "neither kind because of a misspelling",
      `[connection:kafka]\nbootstrap.server = k:1\n${pipeline("a")}`,
      ["p.conf:2: [connection:kafka] bootstrap.server: unknown key; did you mean `bootstrap_servers`?"],
    ],
    [
      "a key of the embedded kind",
      kafka("retention = 7d"),
      [
        "p.conf:3: [connection:kafka] retention: is an option of embedded and PostgreSQL connections only; remove it",
      ],
    ],
    [
      "keys of the Kafka kind",
      `[connection:log]\ndirectory = data\nsasl_username = u\n${pipeline("a")}`,
      ["p.conf:3: [connection:log] sasl_username: is an option of Kafka connections only; remove it"],
    ],
    [
      "a key that every object of JavaScript has",
      kafka("constructor = 1"),
      [
        "p.conf:3: [connection:kafka] constructor: unknown key; the nearest of 24 are `spool`, `client_id` and `sasl_password`",
      ],
    ],
    [
      "a server without a port",
      `[connection:kafka]\nbootstrap_servers = a:1, b, c:0\n${pipeline("a")}`,
      ['p.conf:2: [connection:kafka] bootstrap_servers: "b" is not host:port'],
    ],
    [
      "sasl keys without a sasl protocol",
      kafka("sasl_password = hunter2"),
      [
        "p.conf:3: [connection:kafka] sasl_password: has no effect with security_protocol = plaintext; remove it, or set security_protocol = sasl_ssl or sasl_plaintext",
      ],
    ],
    [
      "a sasl protocol without its keys",
      kafka("security_protocol = SASL_SSL\nsasl_mechanism = plain\nsasl_username ="),
      [
        "p.conf:1: [connection:kafka] sasl_password: is required by sasl_mechanism = PLAIN",
        "p.conf:5: [connection:kafka] sasl_username: is empty; expected a text, or remove the key",
      ],
    ],
    [
      "OAUTHBEARER with the keys of a password, and both kinds of proof",
      kafka(
        "security_protocol = sasl_ssl\nsasl_mechanism = OAUTHBEARER\nsasl_username = u\nsasl_oauth_client_id = a\nsasl_oauth_client_secret = obviously-fake\nsasl_oauth_assertion_key = key.pem\nsasl_oauth_extensions = auth=x",
      ),
      [
        "p.conf:1: [connection:kafka] sasl_oauth_token_endpoint: is required by sasl_mechanism = OAUTHBEARER",
        "p.conf:5: [connection:kafka] sasl_username: has no effect with sasl_mechanism = OAUTHBEARER; remove it, or set sasl_mechanism = PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
        "p.conf:8: [connection:kafka] sasl_oauth_assertion_key: conflicts with sasl_oauth_client_secret; remove one of them",
        'p.conf:9: [connection:kafka] sasl_oauth_extensions: "auth=x" is not name=value, a name of letters other than auth',
      ],
    ],
    [
      "OAUTHBEARER without proof",
      kafka(
        "security_protocol = sasl_ssl\nsasl_mechanism = OAUTHBEARER\nsasl_oauth_token_endpoint = https://idp.example/token\nsasl_oauth_client_id = a",
      ),
      [
        "p.conf:1: [connection:kafka] sasl_oauth_client_secret: is required by sasl_mechanism = OAUTHBEARER; or sasl_oauth_assertion_key is",
      ],
    ],
    [
      "ssl keys without ssl",
      kafka("security_protocol = plaintext\nssl_ca_location = ca.pem"),
      [
        "p.conf:4: [connection:kafka] ssl_ca_location: has no effect with security_protocol = plaintext; remove it, or set security_protocol = ssl or sasl_ssl",
      ],
    ],
    [
      "a certificate without its key",
      kafka("security_protocol = ssl\nssl_certificate_location = c.pem"),
      [
        "p.conf:4: [connection:kafka] ssl_certificate_location: has no effect without ssl_key_location; add ssl_key_location = <a path>, or remove this",
      ],
    ],
    [
      "a key without its certificate",
      kafka("security_protocol = ssl\nssl_key_location = k.pem"),
      [
        "p.conf:4: [connection:kafka] ssl_key_location: has no effect without ssl_certificate_location; add ssl_certificate_location = <a path>, or remove this",
      ],
    ],
    [
      "two logs in one folder",
      `[connection:a]\ndirectory = data\n[connection:b]\ndirectory = ./x/../data/\n${pipeline("a", "", "\nconnection = a")}`,
      [
        "p.conf:4: [connection:b] directory: is the folder of another connection too (p.conf:2); give each its own",
      ],
    ],
    [
      "two spools in one file",
      `[connection:a]\nbootstrap_servers = k:1\nspool = spool\n[connection:b]\nbootstrap_servers = k:2\nspool = ./x/../spool\n[connection:c]\nbootstrap_servers = k:3\nspool = off\n[connection:d]\nbootstrap_servers = k:4\n${pipeline("a", "", "\nconnection = a")}`,
      ["p.conf:6: [connection:b] spool: is the file of another connection too (p.conf:3); give each its own"],
    ],
    [
      "a spool in the file of a log",
      `[connection:a]\ndirectory = data\n[connection:b]\nbootstrap_servers = k:1\nspool = data/log.sqlite\n${pipeline("a", "", "\nconnection = a")}`,
      ["p.conf:5: [connection:b] spool: is the file of another connection too (p.conf:2); give each its own"],
    ],
    [
      "a spool before an embedded log",
      `[connection:a]\ndirectory = data\nspool = spool\n${pipeline("a")}`,
      ["p.conf:3: [connection:a] spool: is an option of Kafka connections only; remove it"],
    ],
    [
      "the size of a spool without a spool",
      kafka("spool_max_bytes = 1MiB"),
      [
        "p.conf:3: [connection:kafka] spool_max_bytes: has no effect without spool; add spool = <a path>, or remove this",
      ],
    ],
    [
      "a section name that hides a connection",
      `[conection:kafka]\nbootstrap_servers = k:1\n${pipeline("a")}${pipeline("b", "path = /b", "\nconnection = kafka")}`,
      ["p.conf:1: [conection:kafka]: unknown section; did you mean [connection:<id>]?"],
    ],
  ])("%s", (_, file, expected) => {
    expect(problems(file)).toEqual(expected)
  })

  test("every protocol with the keys that it wants is right", () => {
    const sasl = "sasl_mechanism = scram-sha-512\nsasl_username = u\nsasl_password = ${SECRET}"
    const ssl = "ssl_ca_location = ca.pem\nssl_certificate_location = c.pem\nssl_key_location = k.pem"
    expect(problems(kafka(`security_protocol = sasl_plaintext\n${sasl}`))).toEqual([])
    expect(problems(kafka(`security_protocol = ssl\n${ssl}`))).toEqual([])
    const { connections } = plan(kafka(`security_protocol = Sasl_Ssl\n${sasl}\n${ssl}`))
    expect(connections.get("kafka")?.values).toMatchObject({
      security_protocol: "sasl_ssl",
      sasl_mechanism: "SCRAM-SHA-512",
      sasl_password: "hunter2",
      ssl_ca_location: "/etc/hookline/ca.pem",
    })
  })
})

describe("listeners", () => {
  const two = (a: string, b: string): string => `${KAFKA}${pipeline("a", a)}${pipeline("b", b)}`

  test.each<[name: string, file: string, problems: string[]]>([
    [
      "one port and path",
      two("path = /x", "path = /x"),
      [
        'p.conf:8: [pipeline:b:WebHookSource] path: port and path are those of pipeline "a" (p.conf:4); give one of them another path or port',
      ],
    ],
    [
      "one port and path by default",
      two("", ""),
      [
        'p.conf:7: [pipeline:b:WebHookSource] path: port and path are those of pipeline "a" (p.conf:3); give one of them another path or port',
      ],
    ],
    [
      "one path on a host and on every host",
      two("", "host = 127.0.0.1"),
      [
        'p.conf:7: [pipeline:b:WebHookSource] path: port and path are those of pipeline "a" (p.conf:3); give one of them another path or port',
      ],
    ],
    [
      "two paths on a host and on every host",
      two("path = /a", "host = localhost"),
      [
        'p.conf:8: [pipeline:b:WebHookSource] host: overlaps, on the same port, the host of pipeline "a" (p.conf:3); give both the same host, or another port',
      ],
    ],
    [
      "TLS and none on one port",
      two("path = /a", "tls_certificate = c.pem"),
      [
        'p.conf:8: [pipeline:b:WebHookSource] tls_certificate: differs from that on the same port of pipeline "a" (p.conf:3); give both the same TLS settings, or another port',
      ],
    ],
    [
      "the admin listener's port",
      `${KAFKA}${pipeline("a", "port = 80")}[admin]\nlisten = localhost:80`,
      ['p.conf:8: [admin] listen: is the port of pipeline "a" (p.conf:4); choose another'],
    ],
    [
      "the admin listener's port by default",
      `${KAFKA}${pipeline("a", "port = 9464")}`,
      [
        "p.conf:4: [pipeline:a:WebHookSource] port: is the admin listener's by default; choose another, or set [admin] listen",
      ],
    ],
    [
      "an admin listener for everyone without a token",
      `${KAFKA}${pipeline("a")}[admin]\nlisten = 0.0.0.0:9464`,
      [
        "p.conf:8: [admin] listen: is not a loopback address and token is not set; add token = <secret>, or listen on 127.0.0.1",
      ],
    ],
    [
      "a read_token that may act",
      `${KAFKA}${pipeline("a")}[admin]\ntoken = obviously-fake\nread_token = obviously-fake`,
      ["p.conf:9: [admin] read_token: is the same as token, so that its holders could act; set another one"],
    ],
    [
      "a read_token alone",
      `${KAFKA}${pipeline("a")}[admin]\nread_token = obviously-fake`,
      ["p.conf:8: [admin] read_token: has no effect without token; add token = <a text>, or remove this"],
    ],
    [
      "a replica at a port that there is none of",
      `${KAFKA}${pipeline("a")}[admin]\nreplicas_token = obviously-fake\nreplicas = dns:hooks:99999`,
      ['p.conf:9: [admin] replicas: "dns:hooks:99999" is not <host>:<port> or dns:<name>:<port>'],
    ],
    [
      "CAs of a Redis without TLS",
      `${KAFKA}${pipeline("a")}[service]\nredis = redis://hooks\nredis_ca = ca.pem`,
      [
        "p.conf:9: [service] redis_ca: has no effect without a rediss:// redis; remove it, or reach the Redis by TLS",
      ],
    ],
    [
      "an admin certificate without its key",
      `${KAFKA}${pipeline("a")}[admin]\ntls_certificate = admin.pem`,
      [
        "p.conf:8: [admin] tls_certificate: has no effect without tls_key; add tls_key = <a path>, or remove this",
      ],
    ],
    [
      "an audit on an unknown connection",
      `${KAFKA}${pipeline("a")}[admin]\naudit_topic = kavka/audit`,
      ['p.conf:8: [admin] audit_topic: unknown connection "kavka"; did you mean "kafka"?'],
    ],
    [
      "an audit without a connection",
      `${KAFKA}${pipeline("a")}[admin]\naudit_topic = audit`,
      ['p.conf:8: [admin] audit_topic: "audit" is not <connection>/<topic>'],
    ],
    [
      "an audit in a topic that can't be",
      `${KAFKA}${pipeline("a")}[admin]\naudit_topic = kafka/aud it`,
      ['p.conf:8: [admin] audit_topic: "kafka/aud it" is not <connection>/<topic>'],
    ],
    [
      "an audit in a pipeline's topic",
      `${KAFKA}${pipeline("a")}[admin]\naudit_topic = kafka/t`,
      ['p.conf:8: [admin] audit_topic: is a topic of pipeline "a"; choose another'],
    ],
    [
      "an admin listener at no host",
      `${KAFKA}${pipeline("a")}[admin]\nlisten = 9464`,
      [
        'p.conf:8: [admin] listen: "9464" is not host:port (an IPv6 address in brackets), or off; write 127.0.0.1:9464',
      ],
    ],
  ])("%s", (_, file, expected) => {
    expect(problems(file)).toEqual(expected)
  })

  test.each([
    "listen = off",
    "listen = OFF",
    "listen = 127.1.2.3:1",
    "listen = [::1]:1",
    "listen = [::ffff:127.0.0.1]:1",
    "listen = localhost:1",
    "listen = 0.0.0.0:1\ntoken = x",
    "listen = [::]:1\ntoken = ${SECRET}",
    "listen = 127.0.0.1:0",
  ])("[admin] %s is right", (keys) => {
    expect(problems(`${KAFKA}${pipeline("a")}[admin]\n${keys}`)).toEqual([])
  })

  test.each(["127.example.com:1", "192.0.2.1:1", "[2001:db8::1]:1", "[::ffff:192.0.2.1]:1"])(
    "[admin] listen = %s wants a token",
    (listen) => {
      expect(problems(`${KAFKA}${pipeline("a")}[admin]\nlisten = ${listen}`)).toHaveLength(1)
    },
  )
})

test("everything that is wrong is reported at once, in the order of the lines", () => {
  const file = `[connection:kafka]
bootstrap_servers = k
sasl_password = hunter2
[pipeline:a:WebHookSource]
port = 70000
tpic = x
[pipeline:a:BrokerSnk]
[pipeline:b:WebHookSource]
path = \${NONE}
[pipeline:b:BrokerSink]
connection = log
[sevice]
[admin]
listen = 0.0.0.0:1
listen = off
`
  expect(problems(file)).toEqual([
    'p.conf:2: [connection:kafka] bootstrap_servers: "k" is not host:port; write k:9092',
    "p.conf:3: [connection:kafka] sasl_password: has no effect with security_protocol = plaintext; remove it, or set security_protocol = sasl_ssl or sasl_plaintext",
    'p.conf:5: [pipeline:a:WebHookSource] port: "70000" is not a whole number from 0 to 65535',
    "p.conf:6: [pipeline:a:WebHookSource] tpic: unknown key; expected `port`, `path`, `host`, `max_body_bytes`, `tls_certificate` or `tls_key`",
    "p.conf:7: [pipeline:a:BrokerSnk]: unknown component; did you mean BrokerSink?",
    "p.conf:9: [pipeline:b:WebHookSource] path: environment variable NONE is not set; set it, or give a default: ${NONE:-default}",
    "p.conf:10: [pipeline:b:BrokerSink] topic: is missing; add topic = <a topic name>",
    'p.conf:11: [pipeline:b:BrokerSink] connection: unknown connection "log"; expected "kafka"',
    "p.conf:12: [sevice]: unknown section; did you mean [service]?",
    "p.conf:14: [admin] listen: is not a loopback address and token is not set; add token = <secret>, or listen on 127.0.0.1",
    "p.conf:15: [admin] listen: duplicate key, first set in line 14; remove one of them",
  ])
})

test("any text gives a plan or says what is wrong with it", () => {
  const lines = fc.constantFrom(
    "[connection:a]",
    "[connection:b]",
    "[pipeline:a:WebHookSource]",
    "[pipeline:a:KafkaSink]",
    "[pipeline:b:WebHookSource]",
    "[pipeline:b:BrokerSink]",
    "[admin]",
    "[service]",
    "bootstrap_servers = k:1",
    "directory = d",
    "security_protocol = ssl",
    "sasl_password = hunter2",
    "topic = t",
    "connection = a",
    "port = ${SECRET}",
    "port = 1",
    "listen = [::]:1",
    "token =",
    "  more",
    "constructor = 1",
    "__proto__ = 1",
  )
  const seen = { plans: 0, problems: 0 }
  const check = (file: string): void => {
    const found = problems(file)
    if (found.length === 0) seen.plans++
    else seen.problems++
    expect(found.join("\n")).not.toContain("hunter2")
  }
  const sound = `${KAFKA}${pipeline("c", "port = 2", "\nconnection = kafka")}`
  fc.assert(
    fc.property(fc.array(fc.oneof({ weight: 9, arbitrary: lines }, fc.string())), (parts) =>
      check(parts.join("\n")),
    ),
  )
  fc.assert(fc.property(fc.array(lines, { maxLength: 2 }), (parts) => check(`${sound}${parts.join("\n")}`)))
  expect(Object.values(seen)).toSatisfy((counts) => counts.every((count) => count > 0))
})
