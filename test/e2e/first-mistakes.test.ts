import { describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Application } from "../../src/index.ts"
import { folderOfTests } from "../support/hookline.ts"

/*
 * What `check` says of the mistakes that people make in their first configuration files: one sentence each, with its line, and
 * what to write.
 */

const folder = folderOfTests()

/** Of twelve lines. */
const FILE = `[connection:log]
directory = data
[pipeline:github:WebHookSource]
port = 8080
path = /github
host = 127.0.0.1
[pipeline:github:Verifier]
provider = github
secret = obviously-fake-0123456789
[pipeline:github:BrokerSink]
topic = github
key = json:/repository/id
`
const UNSET = "${HOOKLINE_TEST_UNSET}"

/** The problems of a file, then its warnings, from the line on. */
async function saidOf(text: string): Promise<readonly string[]> {
  const file = join(folder.path, "p.conf")
  writeFileSync(file, text)
  const { problems } = await Application.fromFile(file).diagnose({ alone: false })
  return [...problems.lines, ...problems.warnings].map((line) => line.replace(`${file}:`, ""))
}

type Mistake = readonly [name: string, before: string, after: string, ...said: readonly string[]]

const edited = (before: string, after: string): string => {
  expect(FILE).toContain(before)
  return FILE.replace(before, () => after)
}

const PATHS: readonly Mistake[] = [
  [
    "~ before a path",
    "directory = data",
    "directory = ~/data",
    '2: [connection:log] directory: "~/data" begins with ~, which only a shell replaces; write ${HOME}/data',
  ],
  [
    "~ of another user",
    "directory = data",
    "directory = ~hookline/data",
    '2: [connection:log] directory: "~hookline/data" begins with ~, which only a shell replaces; write the whole path',
  ],
  [
    "~ in the folder of a store",
    "key = json:/repository/id\n",
    "[pipeline:github:Deduplicator]\nstore = ~/keys\n",
    "13: [pipeline:github:Deduplicator] store: its value begins with ~, which only a shell replaces; write ${HOME} or the whole path",
  ],
  [
    "~ of a file that a value comes from",
    "obviously-fake-0123456789",
    "${file:~/secret}",
    "9: [pipeline:github:Verifier] secret: ${file:~/secret} begins with ~, which only a shell replaces; write the whole path",
  ],
  [
    "~ of included files",
    "[connection:log]",
    "include = ~/teams.d/*.conf\n[connection:log]",
    '1: include: "~/teams.d/*.conf" begins with ~, which only a shell replaces; write ${HOME}/teams.d/*.conf',
  ],
  [
    "a variable as a shell has it",
    "directory = data",
    "directory = $HOME/data",
    '2: [connection:log] directory: "$HOME/data" has a variable without braces; write ${HOME}/data',
  ],
  [
    "quotes around a path",
    "directory = data",
    'directory = "data"',
    String.raw`2: [connection:log] directory: "\"data\"" is in quotes; write data`,
  ],
  [
    "a comment behind a path",
    "directory = data",
    "directory = data ; of all pipelines",
    '2: [connection:log] directory: "data ; of all pipelines" ends in a comment; comments need a line of their own',
  ],
]

const COMMENTS: readonly Mistake[] = [
  [
    "a comment behind the path of the URL",
    "path = /github",
    "path = /github # from GitHub",
    '5: [pipeline:github:WebHookSource] path: "/github # from GitHub" ends in a comment; comments need a line of their own',
  ],
  [
    "a comment behind a number",
    "port = 8080",
    "port = 8080 ; as the proxy has it",
    '4: [pipeline:github:WebHookSource] port: "8080 ; as the proxy has it" ends in a comment; comments need a line of their own',
  ],
  [
    "a comment behind a provider",
    "provider = github",
    "provider = github # GitHub",
    '8: [pipeline:github:Verifier] provider: "github # GitHub" ends in a comment; comments need a line of their own',
  ],
  [
    "a comment behind a list",
    "path = /github",
    "path = /github\nallow = 127.0.0.1, 10.0.0.0/8 # the office",
    '6: [pipeline:github:WebHookSource] allow: "127.0.0.1, 10.0.0.0/8 # the office" ends in a comment; comments need a line of their own',
  ],
  [
    "a comment behind a value that may have one",
    "key = json:/repository/id",
    "key = json:/repository/id # in order",
    "12: [pipeline:github:BrokerSink] key: looks as if it ended in a comment; comments need a line of their own",
  ],
  [
    "a comment behind a section",
    "[pipeline:github:BrokerSink]",
    "[pipeline:github:BrokerSink] # to the log",
    "10: [pipeline:github:BrokerSink]: text after the closing ]; comments need a line of their own",
  ],
]

const KEYS: readonly Mistake[] = [
  [
    "include below a section",
    "key = json:/repository/id",
    "include = teams.d/*.conf",
    "12: [pipeline:github:BrokerSink] include: stands above the first section, and reads other files there; move the line to the top of the file",
  ],
  [
    "include in the section of a Router",
    "key = json:/repository/id",
    "[pipeline:github:Router]\nby = json:/action\nopened = issues\ninclude = teams.d/*.conf",
    "14: [pipeline:github:Router] routes: has a line include, which stands above the first section; move it to the top of the file (indented lines continue a value)",
  ],
  [
    "a key that no section has",
    "provider = github",
    "provider = github\nwebhook_secret_value = x",
    "9: [pipeline:github:Verifier] webhook_secret_value: unknown key; the nearest of 31 are `secret_file`, `webhook_id` and `client_secret`",
  ],
  [
    "a misspelled key",
    "path = /github",
    "path = /github\nrate_limits = 10",
    "6: [pipeline:github:WebHookSource] rate_limits: unknown key; did you mean `rate_limit`?",
  ],
  [
    "a secret in the source's section",
    "path = /github",
    "path = /github\nsecret = obviously-fake",
    "6: [pipeline:github:WebHookSource] secret: unknown key here; move it to [pipeline:github:Verifier]",
  ],
  [
    "a broker in the source's section",
    "path = /github",
    "path = /github\nbootstrap_servers = localhost:9092",
    "6: [pipeline:github:WebHookSource] bootstrap_servers: unknown key here; move it to [connection:<id>]",
  ],
  [
    "a path in the sink's section",
    "topic = github",
    "topic = github\npath = /x",
    "12: [pipeline:github:BrokerSink] path: unknown key here; move it to [pipeline:github:WebHookSource]",
  ],
  [
    "a section of a component alone",
    "[pipeline:github:BrokerSink]",
    "[BrokerSink]",
    "3: [pipeline:github]: has no sink; add [pipeline:github:BrokerSink]",
    "10: [BrokerSink]: unknown section; did you mean [pipeline:<id>:BrokerSink]?",
  ],
  [
    "a section of a connection alone",
    "[connection:log]",
    "[log]",
    "1: [log]: unknown section; did you mean [connection:log]?",
  ],
  [
    "a line of YAML",
    "port = 8080",
    "port 8080",
    "4: [pipeline:github:WebHookSource]: no = or : in the line; write key = value, or indent the line to continue a value",
  ],
]

const VARIABLES: readonly Mistake[] = [
  [
    "an unset secret",
    "obviously-fake-0123456789",
    UNSET,
    "9: [pipeline:github:Verifier] secret: environment variable HOOKLINE_TEST_UNSET is not set; set it, or use ${file:/path}",
  ],
  [
    "an unset variable of a key that is unknown",
    "provider = github",
    `provider = github\nzzz = ${UNSET}`,
    "9: [pipeline:github:Verifier] zzz: environment variable HOOKLINE_TEST_UNSET is not set; set it, or use ${file:/path}",
    "9: [pipeline:github:Verifier] zzz: unknown key; the nearest of 31 are `api`, `mode` and `query`",
  ],
  [
    "another unset variable",
    "topic = github",
    `topic = ${UNSET}`,
    "11: [pipeline:github:BrokerSink] topic: environment variable HOOKLINE_TEST_UNSET is not set; set it, or give a default: ${HOOKLINE_TEST_UNSET:-default}",
  ],
  [
    "a variable in another program's syntax",
    "obviously-fake-0123456789",
    "${env:SECRET}",
    "9: [pipeline:github:Verifier] secret: invalid reference; write ${SECRET}",
  ],
]

const EVENTS: readonly Mistake[] = [
  [
    "a header in a topic's name, as a variable",
    "topic = github",
    "topic = github-${header:X-GitHub-Event}",
    "11: [pipeline:github:BrokerSink] topic: ${header:X-GitHub-Event} is of the event, and no variable; a Router chooses topics by it: write topic = github-{header:X-GitHub-Event} in [pipeline:github:Router]",
  ],
  [
    "a header in a topic's name",
    "topic = github",
    "topic = github-{header:X-GitHub-Event}",
    '11: [pipeline:github:BrokerSink] topic: "github-{header:X-GitHub-Event}" is not one topic; a Router chooses topics by the event: write topic = github-{header:X-GitHub-Event} in [pipeline:<id>:Router]',
  ],
  [
    "a member as a topic",
    "topic = github",
    "topic = json:/action",
    '11: [pipeline:github:BrokerSink] topic: "json:/action" is not one topic; a Router chooses topics by the event: write topic = {json:/action} in [pipeline:<id>:Router]',
  ],
  [
    "a header in a Router's topic, as a variable",
    "key = json:/repository/id",
    "[pipeline:github:Router]\ntopic = github-${header:X-GitHub-Event}\ntopics = github-*\nunsigned = true",
    "13: [pipeline:github:Router] topic: ${header:X-GitHub-Event} is of the event, and no variable; write github-{header:X-GitHub-Event}",
  ],
  [
    "a member as a key, as a variable",
    "key = json:/repository/id",
    "key = ${json:/repository/id}",
    "12: [pipeline:github:BrokerSink] key: ${json:/repository/id} is of the event, and no variable; write json:/repository/id, without ${ and }",
  ],
  [
    "a member in the syntax of JSONPath",
    "key = json:/repository/id",
    "key = $.repository.id",
    '12: [pipeline:github:BrokerSink] key: "$.repository.id" is not json:/pointer (RFC 6901), header:Name, path, or event:id, event:type, event:time or event:source, where the preset knows it; write json:/repository/id',
  ],
]

const VALUES: readonly Mistake[] = [
  [
    "a topic in quotes",
    "topic = github",
    "topic = 'github'",
    `11: [pipeline:github:BrokerSink] topic: "'github'" is in quotes; write github`,
  ],
  [
    "a path without its slash",
    "path = /github",
    "path = github",
    '5: [pipeline:github:WebHookSource] path: "github" is not a path; write /github',
  ],
  [
    "the whole URL as the path",
    "path = /github",
    "path = https://hooks.example.com/github",
    '5: [pipeline:github:WebHookSource] path: "https://hooks.example.com/github" is not a path; write /github',
  ],
  [
    "a port behind the host",
    "host = 127.0.0.1",
    "host = 127.0.0.1:8080",
    '6: [pipeline:github:WebHookSource] host: "127.0.0.1:8080" is not a host name or an address, an IPv6 one without brackets',
  ],
  [
    "a URL in the place of an address",
    "directory = data",
    "directory = data\nkafka_listen = kafka://localhost:9092",
    '3: [connection:log] kafka_listen: "kafka://localhost:9092" is not host:port (an IPv6 address in brackets), or off; write localhost:9092',
  ],
  [
    "a port alone",
    "key = json:/repository/id",
    "[admin]\nlisten = 9464",
    '13: [admin] listen: "9464" is not host:port (an IPv6 address in brackets), or off; write 127.0.0.1:9464',
  ],
  [
    "a bootstrap server without its port",
    "directory = data",
    "directory = data\n[connection:kafka]\nbootstrap_servers = localhost",
    '4: [connection:kafka] bootstrap_servers: "localhost" is not host:port; write localhost:9092',
    `12: [pipeline:github:BrokerSink] connection: is missing and there are several connections; it is one of log or kafka`,
  ],
  [
    "a duration without its unit",
    "path = /github",
    "path = /github\ndelivery_timeout = 5",
    '6: [pipeline:github:WebHookSource] delivery_timeout: "5" is not a duration such as 500ms, 5s, 2m, 24h or 7d',
  ],
  [
    "a topic in a variable as a shell has it",
    "topic = github",
    "topic = $TOPIC",
    '11: [pipeline:github:BrokerSink] topic: "$TOPIC" has a variable without braces; write ${TOPIC}',
  ],
  [
    "a size of M",
    "path = /github",
    "path = /github\nmax_body_bytes = 25M",
    '6: [pipeline:github:WebHookSource] max_body_bytes: "25M" is not a size; write 25MiB',
  ],
  [
    "a sender that is not known",
    "provider = github",
    "provider = mycompany",
    expect.stringMatching(
      /^8: \[pipeline:github:Verifier\] provider: "mycompany" is not a provider; the nearest of \d+ are [\w-]+, [\w-]+ and [\w-]+$/,
    ) as unknown as string,
  ],
  [
    "a key that is indented below the secret",
    "secret = obviously-fake-0123456789\n",
    "secret = obviously-fake-0123456789\n  mode = observe\n",
    "9: [pipeline:github:Verifier] secret: value 2 of 2: looks like a line of another key; indented lines continue the value above them",
  ],
]

describe.each([
  ["paths", PATHS],
  ["comments", COMMENTS],
  ["keys", KEYS],
  ["variables", VARIABLES],
  ["values of events", EVENTS],
  ["values", VALUES],
])("mistakes in %s", (_, mistakes) => {
  test.each(mistakes.map(([name, ...rest]) => [name, rest] as const))(
    "%s",
    async (_, [before, after, ...said]) => {
      expect(await saidOf(edited(before, after))).toEqual(said)
    },
  )
})

test("the file without mistakes has none", async () => {
  expect(await saidOf(FILE)).toEqual([])
})

test("a file is one secret a line, also with commas", async () => {
  writeFileSync(join(folder.path, "secrets"), "obviously,fake-0123456789\r\nobviously-fake-9876543210\n")
  writeFileSync(
    join(folder.path, "p.conf"),
    edited("obviously-fake-0123456789", "${file:secrets}, and-a-third-0123456789"),
  )
  const { plan } = await Application.fromFile(join(folder.path, "p.conf")).diagnose({ alone: false })
  const [verifier] = plan!.pipelines[0]!.processors as readonly { readonly values: object }[]
  expect(verifier!.values).toMatchObject({
    secret: ["obviously,fake-0123456789", "obviously-fake-9876543210", "and-a-third-0123456789"],
  })
})
