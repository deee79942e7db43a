import { describe, expect, test } from "bun:test"
import { atOnce } from "../../clock/slices.ts"
import { Problems } from "./problems.ts"
import { readConfigurationFile, type ConfigurationFile } from "./configuration-file.ts"

const env = { PASSWORD: "hunter2", LINES: "a\ntopic = b" }
const fileOf = (file: string | Uint8Array): ConfigurationFile =>
  atOnce(
    readConfigurationFile(typeof file === "string" ? new TextEncoder().encode(file) : file, "p.conf", {
      env,
      baseDir: "/etc/hookline",
      kinds: ["queue"],
    }),
  )
const problemsOf = (file: string): readonly string[] => new Problems("p.conf", fileOf(file)).lines

test("texts are found by section, with their lines", () => {
  const configuration = fileOf(`[connection:kafka]
Bootstrap_Servers =
  a:1
  b:2
[pipeline:web hooks:WebHookSource]
[pipeline : web hooks : KafkaSink]
topic = \${PASSWORD}
[admin]
[service]
`)
  expect(configuration.problems).toEqual([])
  expect(configuration.connections.get("kafka")).toEqual({
    name: "connection:kafka",
    file: "p.conf",
    line: 1,
    texts: new Map([
      [
        "bootstrap_servers",
        {
          key: "Bootstrap_Servers",
          section: "connection:kafka",
          file: "p.conf",
          line: 2,
          baseDir: "/etc/hookline",
          value: { text: "a:1\nb:2", quotable: true, problems: [] },
        },
      ],
    ]),
  })
  const components = configuration.pipelines.get("web hooks")!.components
  expect([...components.keys()]).toEqual(["WebHookSource", "KafkaSink"])
  expect(components.get("KafkaSink")!.texts.get("topic")).toMatchObject({
    key: "topic",
    line: 7,
    value: { text: "hunter2", quotable: false },
  })
  expect(configuration.admin?.line).toBe(8)
  expect(configuration.service?.line).toBe(9)
})

test("a substituted line end adds no key", () => {
  const texts = fileOf("[service]\nx = ${LINES}\n  end").service!.texts
  expect([...texts.keys()]).toEqual(["x"])
  expect(texts.get("x")?.value.text).toBe("a\ntopic = b\nend")
})

describe("names of sections", () => {
  test.each([
    ["[conection:kafka]", "unknown section; did you mean [connection:<id>]?"],
    ["[Pipeline:a:B]", "unknown section; did you mean [pipeline:<id>:<Component>]?"],
    ["[Admin]", "unknown section; did you mean [admin]?"],
    ["[admin:x]", "unknown section; did you mean [admin]?"],
    [
      "[passwords]",
      "unknown section; expected [connection:<id>], [pipeline:<id>:<Component>], [provider:<name>], [queue:<id>], [forward:<id>], [defaults:<Component>], [admin], [traces] or [service]",
    ],
    [
      "[]",
      "unknown section; expected [connection:<id>], [pipeline:<id>:<Component>], [provider:<name>], [queue:<id>], [forward:<id>], [defaults:<Component>], [admin], [traces] or [service]",
    ],
    ["[connection]", "invalid section name; write [connection:<id>], without : in the id"],
    ["[connection:]", "invalid section name; write [connection:<id>], without : in the id"],
    ["[connection:a:b]", "invalid section name; write [connection:<id>], without : in the id"],
    ["[pipeline:a]", "missing component; write [pipeline:<id>:<Component>], such as [pipeline:a:BrokerSink]"],
    ["[pipeline::B]", "invalid section name; write [pipeline:<id>:<Component>], without : in the id"],
    ["[queue]", "invalid section name; write [queue:<id>], without : in the id"],
    ["[pipeline:a:b:C]", "invalid section name; write [pipeline:<id>:<Component>], without : in the id"],
  ])("%s", (name, problem) => {
    expect(problemsOf(`# a comment\n${name}\n`)).toEqual([`p.conf:2: ${name}: ${problem}`])
  })

  test("a duplicate section in another spelling", () => {
    expect(problemsOf("[connection:a]\n[connection: a]")).toEqual([
      "p.conf:2: [connection: a]: duplicate section; move its keys to line 1",
    ])
  })
})

test("problems of every kind are reported by line", () => {
  expect(problemsOf("x = 1\n[conection:k]\n[service]\nc\n")).toEqual([
    "p.conf:1: key outside a section; only include may stand there; begin with a section such as [connection:kafka]",
    "p.conf:2: [conection:k]: unknown section; did you mean [connection:<id>]?",
    "p.conf:4: [service]: no = or : in the line; write key = value, or indent the line to continue a value",
  ])
})

test("a value is interpolated when it is read, and has its problems", () => {
  const read: string[] = []
  const file = "[service]\na = ${NONE}\nb =\n  ok\n  ${NONE:-${PASSWORD}}\n[admin]\ntoken = ${file:/none}\n"
  const environment = { env, baseDir: "/", reads: (path: string) => void read.push(path) }
  const { service, admin, problems } = atOnce(
    readConfigurationFile(new TextEncoder().encode(file), "p.conf", environment),
  )
  expect([problems, read]).toEqual([[], []])
  expect([...service!.texts.values()].map(({ value }) => value)).toEqual([
    {
      text: undefined,
      quotable: false,
      problems: [
        {
          line: 2,
          text: "environment variable NONE is not set; set it, or give a default: ${NONE:-default}",
          error: "unset_variable",
          ofSecret: "environment variable NONE is not set; set it, or use ${file:/path}",
        },
      ],
    },
    {
      text: undefined,
      quotable: false,
      problems: [{ line: 5, text: "the default of ${NONE} can't contain another ${", error: undefined }],
    },
  ])
  expect(read).toEqual([])
  expect(admin!.texts.get("token")!.value.problems).toEqual([
    { line: 7, text: "the file /none does not exist", error: "file_unreadable" },
  ])
  expect(read).toEqual(["/none"])
})
