import { Database } from "bun:sqlite"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeCertificate } from "./certificate.ts"

/** A configuration with one fault, in a folder of its own. */
export interface BrokenConfiguration {
  readonly name: string
  /** The main file; the port `PORT` is in use, `FREE` is not. */
  readonly conf: string
  /** Makes what the file names, beside the files that all have. */
  readonly make?: (folder: string) => void
  /** The problem, from the line on; undefined: it is valid after all. */
  readonly problem: RegExp | undefined
  /** Default: 78. */
  readonly status?: number
  /** Whether only `--listen` finds it. */
  readonly inUse?: true
}

const nowMs = Date.now()
const [server, other] = [makeCertificate("server", { nowMs }), makeCertificate("other", { nowMs })]
const keyOf = ({ privateKey }: typeof server): string =>
  privateKey.export({ format: "pem", type: "pkcs8" }).toString()

/** Files beside every configuration. */
const FILES = {
  "server.pem": server.pem,
  "server.key": keyOf(server),
  "other.key": keyOf(other),
  "garbage.pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
  "bundle.pem": `${server.pem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
  "text.txt": "text",
  "schema.json": `{"type":"object"}`,
}

export function writeFiles(folder: string): void {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text)
}

const LOG = "[connection:log]\ndirectory = data\n"
const KAFKA = "[connection:kafka]\nbootstrap_servers = 127.0.0.1:1\n"
const SSL = `${KAFKA}security_protocol = ssl\n`
const source = (keys = ""): string => `[pipeline:a:WebHookSource]\nport = 0\nhost = 127.0.0.1\n${keys}\n`
const SINK = "[pipeline:a:BrokerSink]\ntopic = t\n"
const PIPELINE = source() + SINK
const TLS = "tls_certificate = server.pem\ntls_key = server.key\n"
const verifier = (keys: string): string => `[pipeline:a:Verifier]\n${keys}\n`
const dedupe = (keys: string): string => `[pipeline:a:Deduplicator]\nkey = json:/id\n${keys}\n`
const schema = (text: string | undefined, name = "broken.json") => ({
  conf: `${LOG}${PIPELINE}[pipeline:a:Validator]\nschema = ${name}\n`,
  ...(text !== undefined && { make: (folder: string) => writeFileSync(join(folder, name), text) }),
})
const write =
  (files: { readonly [name: string]: string }) =>
  (folder: string): void => {
    mkdirSync(join(folder, "teams.d"))
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  }
const database =
  (path: string, sql: string) =>
  (folder: string): void => {
    mkdirSync(join(folder, "data"))
    const db = new Database(join(folder, path))
    db.run(sql)
    db.close()
  }
const NOTION = verifier("provider = notion\nsecret_file = secrets/notion")
const INCLUDE = "include = teams.d/*.conf\n"

export const BROKEN: readonly BrokenConfiguration[] = [
  // the file's text
  {
    name: "an unknown key",
    conf: `${LOG}${PIPELINE}topik = x\n`,
    problem: /topik: unknown key; did you mean/,
  },
  {
    name: "bytes that are no text",
    conf: `${INCLUDE}${LOG}${PIPELINE}`,
    make: write({ "teams.d/b.conf": "\0" }),
    problem: /^teams.d\/b.conf: not UTF-8 text/,
  },
  {
    name: "a missing secret file",
    conf: `${LOG}${PIPELINE}${verifier("provider = stripe\nsecret = ${file:none}")}`,
    problem: /the file none does not exist/,
  },
  {
    name: "an address in several spellings",
    conf: `${LOG}${["127.0.0.1", "127.1", "::ffff:127.0.0.1", "localhost", "::1", "0:0:0:0:0:0:0:1"].map((host, at) => PIPELINE.replaceAll(":a:", `:p${at}:`).replace("port = 0\nhost = 127.0.0.1", `port = FREE\nhost = ${host}\npath = /${at}`)).join("")}`,
    problem: undefined,
  },
  {
    name: "a key that the provider does not use",
    conf: `${LOG}${PIPELINE}${verifier("provider = gitlab\nsecret = 0123456789abcdef\nprefix = v1")}`,
    problem: /prefix: is not used by gitlab/,
  },
  {
    name: "a port of several instances with an embedded log",
    conf: `${LOG}${PIPELINE.replace("port = 0", "port = FREE")}[service]\nreuse_port = on\n[admin]\nlisten = 127.0.0.1:0\nreplicas = 127.0.0.1:9\nreplicas_token = obviously-fake-token-of-replicas\n`,
    problem: /an embedded log is one process's/,
  },
  {
    name: "workers, which there are no more",
    conf: `${LOG}${PIPELINE}[service]\nworkers = 2\n`,
    problem: /workers: was removed: remove the line/,
  },
  // included files, defaults
  {
    name: "an included file that is missing",
    conf: `include = team.conf\n${LOG}${PIPELINE}`,
    problem: /^team.conf: the included file does not exist/,
  },
  { name: "an include that matches nothing", conf: `${INCLUDE}${LOG}${PIPELINE}`, problem: undefined },
  {
    name: "an include of the file itself",
    conf: `include = *.conf\n${LOG}${PIPELINE}`,
    problem: /include: includes the file itself/,
  },
  {
    name: "an include with a wildcard in a folder",
    conf: `include = */x.conf\n${LOG}${PIPELINE}`,
    problem: /has a wildcard in a folder's name/,
  },
  {
    name: "an include of nothing",
    conf: `include = \${EMPTY:-}\n${LOG}${PIPELINE}`,
    problem: /^pipelines.conf:1: include: is empty; name files/,
  },
  {
    name: "a fault in a file of an include with braces",
    conf: `include = none.d/*.conf, teams.d/{b,c}.conf\n${LOG}`,
    make: write({ "teams.d/b.conf": PIPELINE, "teams.d/c.conf": `${SINK}topik = x\n` }),
    problem:
      /^teams.d\/c.conf:1: \[pipeline:a:BrokerSink\]: duplicate section; move its keys to teams.d\/b.conf/,
  },
  {
    name: "an include in a file",
    conf: `include = text.txt/*.conf\n${LOG}${PIPELINE}`,
    problem: /the folder text.txt is not a folder/,
  },
  {
    name: "an include of a folder",
    conf: `${INCLUDE}${LOG}${PIPELINE}`,
    make: (folder) => mkdirSync(join(folder, "teams.d/x.conf"), { recursive: true }),
    problem: /^teams.d\/x.conf: the included file is a folder/,
  },
  {
    name: "a cycle of includes",
    conf: `${INCLUDE}${LOG}${PIPELINE}`,
    make: write({ "teams.d/b.conf": "include = ../pipelines.conf\n" }),
    problem: /^teams.d\/b.conf:1: include: an included file can't include others/,
  },
  {
    name: "a link that leads nowhere",
    conf: `${INCLUDE}${LOG}${PIPELINE}`,
    make: (folder) => {
      mkdirSync(join(folder, "teams.d"))
      symlinkSync("nowhere", join(folder, "teams.d/x.conf"))
    },
    problem: /^teams.d\/x.conf: the included file does not exist/,
  },
  {
    name: "a section in two files",
    conf: `${INCLUDE}${LOG}${PIPELINE}`,
    make: write({ "teams.d/b.conf": `\n${SINK}` }),
    problem:
      /^teams.d\/b.conf:2: \[pipeline:a:BrokerSink\]: duplicate section; move its keys to pipelines.conf:\d+/,
  },
  {
    name: "a fault in an included file",
    conf: `${INCLUDE}${LOG}`,
    make: write({ "teams.d/b.conf": `${PIPELINE}topik = x\n` }),
    problem: /^teams.d\/b.conf:\d+: \[pipeline:a:BrokerSink\] topik/,
  },
  {
    name: "a path in an included file is relative to it",
    conf: `${INCLUDE}${LOG}`,
    make: write({ "teams.d/b.conf": `${PIPELINE}[pipeline:a:Validator]\nschema = schema.json\n` }),
    problem: /^teams.d\/b.conf:\d+: .* schema: .*teams.d\/schema.json/,
  },
  {
    name: "a default that the provider does not use",
    conf: `${LOG}${PIPELINE}[defaults:Verifier]\ntolerance = 1m\n${verifier("provider = gitlab\nsecret = 0123456789abcdef0123456789")}`,
    problem: undefined,
  },
  // files that options name
  { name: "a missing schema", ...schema(undefined), problem: /schema: can't read the JSON Schema/ },
  {
    name: "a schema that is no JSON",
    ...schema("{"),
    problem: /schema: the JSON Schema broken.json is not valid JSON/,
  },
  {
    name: "a schema that is none",
    ...schema(`{"type":"objekt"}`),
    problem: /schema: .*is not a usable JSON Schema/,
  },
  {
    name: "a schema with a $ref elsewhere",
    ...schema(`{"$ref":"https://example.com/s"}`),
    problem: /schema: .*is not a usable JSON Schema/,
  },
  {
    name: "a schema with an unbounded pattern",
    ...schema(`{"pattern":"(?=a)"}`),
    problem: /schema: .*is not a usable JSON Schema/,
  },
  { name: "a schema with an unknown keyword", ...schema(`{"tpye":"object"}`), problem: undefined },
  {
    name: "a missing certificate",
    conf: `${LOG}${source("tls_certificate = none.pem\ntls_key = server.key")}${SINK}`,
    problem: /tls_certificate: .*none.pem does not exist/,
  },
  {
    name: "a certificate that is none",
    conf: `${LOG}${source("tls_certificate = garbage.pem\ntls_key = server.key")}${SINK}`,
    problem: /tls_certificate: .*garbage.pem: /,
  },
  {
    name: "a key of another certificate",
    conf: `${LOG}${source("tls_certificate = server.pem\ntls_key = other.key")}${SINK}`,
    problem: /tls_key: .*does not match tls_certificate/,
  },
  {
    name: "a bundle of CAs with a broken one",
    conf: `${LOG}${source(`${TLS}tls_client_ca = bundle.pem`)}${SINK}`,
    problem: /tls_client_ca: .*bundle.pem: /,
  },
  {
    name: "a Kafka CA that is none",
    conf: `${SSL}ssl_ca_location = text.txt\n${PIPELINE}`,
    problem: /ssl_ca_location: .*no PEM certificate in it/,
  },
  {
    name: "a missing Kafka CA",
    conf: `${SSL}ssl_ca_location = none.pem\n${PIPELINE}`,
    problem: /ssl_ca_location: .*none.pem does not exist/,
  },
  {
    name: "a Kafka key of another certificate",
    conf: `${SSL}ssl_certificate_location = server.pem\nssl_key_location = other.key\n${PIPELINE}`,
    problem: /ssl_key_location: .*does not match ssl_certificate_location/,
  },
  {
    name: "a Kafka key that is a certificate",
    conf: `${SSL}ssl_certificate_location = server.pem\nssl_key_location = server.pem\n${PIPELINE}`,
    problem: /ssl_key_location: .*no PEM private key in it/,
  },
  {
    name: "a store's CA that is none",
    conf: `${LOG}${PIPELINE}${dedupe("store = rediss://127.0.0.1:1\nstore_ca = text.txt")}`,
    problem: /\[pipeline:a:Deduplicator\] store_ca: .*no PEM certificate/,
  },
  {
    name: "a store's CA that is none, with signed ids in the store",
    conf: `${LOG}${PIPELINE}${verifier("provider = mailgun\nsecret = 0123456789abcdef")}${dedupe("store = rediss://127.0.0.1:1\nstore_ca = text.txt")}`,
    problem: /\[pipeline:a:Deduplicator\] store_ca: .*no PEM certificate/,
  },
  {
    name: "a secret file in a folder that is missing",
    conf: `${LOG}${PIPELINE}${NOTION}`,
    problem: /secret_file: the folder of .* does not exist/,
  },
  {
    name: "a secret file that is a folder",
    conf: `${LOG}${PIPELINE}${NOTION}`,
    make: (folder) => mkdirSync(join(folder, "secrets/notion"), { recursive: true }),
    problem: /secret_file: .*is a folder/,
  },
  // folders and files that Hookline writes
  {
    name: "a log in a file",
    conf: `${LOG.replace("data", "text.txt")}${PIPELINE}`,
    problem: /\[connection:log\] directory: .*text.txt is not a folder/,
    status: 74,
  },
  {
    name: "a log below a file",
    conf: `${LOG.replace("data", "text.txt/data")}${PIPELINE}`,
    problem: /directory: .*can't be made/,
    status: 74,
  },
  {
    name: "a log at a link that leads nowhere",
    conf: LOG + PIPELINE,
    make: (folder) => symlinkSync("nowhere/data", join(folder, "data")),
    problem: /directory: .*can't be written: data is not a folder/,
    status: 74,
  },
  {
    name: "a log with a name that is too long",
    conf: LOG.replace("data", "d".repeat(300)) + PIPELINE,
    problem: /directory: .*can't be used: its name is too long/,
    status: 74,
  },
  {
    name: "a log's file that is none",
    conf: LOG + PIPELINE,
    make: (folder) => {
      mkdirSync(join(folder, "data"))
      writeFileSync(join(folder, "data/log.sqlite"), "x".repeat(5000))
    },
    problem: /directory: .*is not a Hookline log/,
    status: 74,
  },
  {
    name: "a log that is another program's database",
    conf: LOG + PIPELINE,
    make: database("data/log.sqlite", "CREATE TABLE users (id)"),
    problem: /directory: .*is not a Hookline log/,
    status: 74,
  },
  {
    name: "a log of a later version",
    conf: LOG + PIPELINE,
    make: database("data/log.sqlite", `PRAGMA application_id = ${0x484b4c4e}; PRAGMA user_version = 9`),
    problem: /directory: .*written by a later version/,
    status: 74,
  },
  {
    name: "a log's lock file that is a folder",
    conf: LOG + PIPELINE,
    make: (folder) => mkdirSync(join(folder, "data/writer.lock"), { recursive: true }),
    problem: /directory: .*writer.lock is not a file/,
    status: 74,
  },
  ...["log.sqlite", "log.sqlite-wal", "log.sqlite-shm", "writer.pid"].map((name) => ({
    name: `a log's ${name} that is a folder`,
    conf: LOG + PIPELINE,
    make: (folder: string): void => void mkdirSync(join(folder, "data", name), { recursive: true }),
    problem: new RegExp(`directory: .*${name} is not a file`),
    status: 74,
  })),
  ...[
    ["text", "text"],
    ["a page of text", "x".repeat(5000)],
  ].map(([what, text]) => ({
    name: `a log's lock file with ${what}`,
    conf: LOG + PIPELINE,
    make: (folder: string): void => {
      mkdirSync(join(folder, "data"))
      writeFileSync(join(folder, "data/writer.lock"), text!)
    },
    problem: /directory: .*writer.lock is not a Hookline writer lock/,
    status: 74,
  })),
  {
    name: "text in the file that names the lock's holder, which a start writes anew",
    conf: LOG + PIPELINE,
    make: (folder) => {
      mkdirSync(join(folder, "data"))
      writeFileSync(join(folder, "data/writer.pid"), "text")
    },
    problem: undefined,
  },
  {
    name: "two logs in one folder that is missing yet, by a link",
    conf: `[connection:log]\ndirectory = data/logs\n[connection:linked]\ndirectory = link/logs\n${PIPELINE}connection = log\n`,
    make: (folder) => {
      mkdirSync(join(folder, "data"))
      symlinkSync("data", join(folder, "link"))
    },
    problem: /\[connection:linked\] directory: is the folder of another connection too/,
  },
  {
    name: "a spool in a file that is a link to another's",
    conf: `${KAFKA}spool = spool\n[connection:linked]\nbootstrap_servers = 127.0.0.1:1\nspool = link\n${PIPELINE}connection = kafka\n`,
    make: (folder) => {
      writeFileSync(join(folder, "spool"), "")
      symlinkSync("spool", join(folder, "link"))
    },
    problem: /\[connection:linked\] spool: is the file of another connection too/,
  },
  {
    name: "a spool that is a log",
    conf: `${KAFKA}spool = data/spool\n${PIPELINE}`,
    make: database("data/spool", `PRAGMA application_id = ${0x484b4c4e}; CREATE TABLE t (id)`),
    problem: /spool: .*is not a Hookline spool/,
    status: 74,
  },
  {
    name: "a spool in a file",
    conf: `${KAFKA}spool = text.txt/spool\n${PIPELINE}`,
    problem: /spool: .*text.txt is not a folder/,
    status: 74,
  },
  {
    name: "a store in a file",
    conf: `${LOG}${PIPELINE}${dedupe("store = ./text.txt")}`,
    problem: /\[pipeline:a:Deduplicator\] store: .*text.txt is not a folder/,
    status: 74,
  },
  {
    name: "a listener for Kafka clients that others reach",
    conf: `${LOG}kafka_listen = 0.0.0.0:9092\n${PIPELINE}`,
    problem: /\[connection:log\] kafka_listen: is not a loopback address/,
  },
  // what others use
  {
    name: "a port in use",
    conf: `${LOG}${PIPELINE.replace("port = 0", "port = PORT")}`,
    problem: /\[pipeline:a:WebHookSource\] port: can't listen on 127.0.0.1:\d+: the port is in use/,
    status: 69,
    inUse: true,
  },
  {
    name: "an admin port in use",
    conf: `${LOG}${PIPELINE}[admin]\nlisten = 127.0.0.1:PORT\n`,
    problem: /\[admin\] listen: can't listen on/,
    status: 69,
    inUse: true,
  },
  {
    name: "a host of another machine",
    conf: `${LOG}${PIPELINE.replace("port = 0\nhost = 127.0.0.1", "port = FREE\nhost = 203.0.113.9")}`,
    problem: /\[pipeline:a:WebHookSource\] host: .*not an address of this machine/,
    status: 69,
    inUse: true,
  },
  {
    name: "a log that another process writes to",
    conf: `${LOG.replace("data", "locked")}${PIPELINE}`,
    problem: /directory: .*is being written to by/,
    status: 69,
    inUse: true,
  },
]
