import { describe, expect, test } from "bun:test"
import * as fc from "fast-check"
import { atOnce } from "../../clock/slices.ts"
import { Problems } from "./problems.ts"
import { readConfigurationFile, type ConfigurationFile } from "./configuration-file.ts"

const env = { PASSWORD: "hunter2", LINES: "a\ntopic = b" }
const fileOf = (file: string | Uint8Array): ConfigurationFile =>
  atOnce(
    readConfigurationFile(typeof file === "string" ? new TextEncoder().encode(file) : file, "p.conf", {
      env,
      baseDir: "/etc/hookline",
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
      "unknown section; expected [connection:<id>], [pipeline:<id>:<Component>], [provider:<name>], [defaults:<Component>], [admin], [traces] or [service]",
    ],
    [
      "[]",
      "unknown section; expected [connection:<id>], [pipeline:<id>:<Component>], [provider:<name>], [defaults:<Component>], [admin], [traces] or [service]",
    ],
    ["[connection]", "invalid section name; write [connection:<id>], without : in the id"],
    ["[connection:]", "invalid section name; write [connection:<id>], without : in the id"],
    ["[connection:a:b]", "invalid section name; write [connection:<id>], without : in the id"],
    ["[pipeline:a]", "missing component; write [pipeline:<id>:<Component>], such as [pipeline:a:BrokerSink]"],
    ["[pipeline::B]", "invalid section name; write [pipeline:<id>:<Component>], without : in the id"],
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
        },
      ],
    },
    {
      text: undefined,
      quotable: false,
      problems: [{ line: 5, text: "the default of ${NONE} can't contain another ${" }],
    },
  ])
  expect(read).toEqual([])
  expect(structuredClone(admin)!.texts.get("token")!.value.problems).toEqual([
    { line: 7, text: "the file /none does not exist" },
  ])
  expect(read).toEqual(["/none"])
})

test("any text gives a configuration, with problems or without", () => {
  const fragments = fc.constantFrom(
    "[",
    "]",
    "connection",
    "pipeline",
    ":",
    "=",
    "\n",
    "\r\n",
    "  ",
    "a",
    "#",
    "${",
    "}",
    "$",
    "file:",
    "é",
  )
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(fragments).map((parts) => parts.join("")),
  )
  fc.assert(
    fc.property(
      fc.oneof(
        text.map((t) => new TextEncoder().encode(t)),
        fc.uint8Array(),
      ),
      (bytes) => {
        const lines = bytes.filter((byte) => byte === 0x0a).length + 1
        for (const { line } of fileOf(bytes).problems) {
          if (line !== undefined) expect(line).toBeWithin(1, lines + 1)
        }
      },
    ),
  )
})

test("a written file is read back unchanged", () => {
  const word = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,11}$/)
  // No white space at either end and no comment sign at the start: the grammar takes those away.
  const line = fc
    .string({ unit: "grapheme", minLength: 1 })
    .filter((text) => !/[\n\r\0]/.test(text) && text.trim() === text && !/^[#;]/.test(text))
  const value = fc.array(line, { minLength: 1, maxLength: 4 })
  const key = fc.stringMatching(/^[a-z][a-z0-9_.-]{0,20}$/)
  const sections = fc.uniqueArray(
    fc.record({ id: word, entries: fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name }) }),
    { selector: ({ id }) => id },
  )
  const style = fc.record({
    eol: fc.constantFrom("\n", "\r\n"),
    separator: fc.constantFrom("=", ":", " = ", ": "),
    indent: fc.constantFrom("\t", "  "),
    between: fc.constantFrom("", "# a comment", "   ; another"),
    below: fc.boolean(),
  })
  fc.assert(
    fc.property(sections, style, (written, { eol, separator, indent, between, below }) => {
      const lines = written.flatMap(({ id, entries }) => [
        `[connection:${id}]`,
        ...entries.flatMap(([name, [first = "", ...more]]) => [
          ...(below
            ? [`${name}${separator}`, `${indent}${escape(first)}`]
            : [`${name}${separator}${escape(first)}`]),
          ...more.flatMap((text) => [...(between === "" ? [] : [between]), `${indent}${escape(text)}`]),
        ]),
      ])
      const configuration = fileOf(lines.join(eol))
      expect(configuration.problems).toEqual([])
      const read = [...configuration.connections].map(([id, { texts }]) => ({
        id,
        entries: [...texts].map(([name, { value }]) => [name, value.text]),
      }))
      expect(read).toEqual(
        written.map(({ id, entries }) => ({
          id,
          entries: entries.map(([name, value]) => [name, value.join("\n")]),
        })),
      )
    }),
  )
})

const escape = (text: string): string => text.replaceAll("${", "$${")
