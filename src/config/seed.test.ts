import { describe, expect, test } from "bun:test"
import * as fc from "fast-check"
import { atOnce } from "../slices.ts"
import { Problems } from "./problems.ts"
import { readSeed, type Seed } from "./seed.ts"

const env = { PASSWORD: "hunter2", LINES: "a\ntopic = b" }
const seedOf = (file: string | Uint8Array): Seed =>
  atOnce(
    readSeed(typeof file === "string" ? new TextEncoder().encode(file) : file, "p.conf", {
      env,
      baseDir: "/etc/hookline",
    }),
  )
const problemsOf = (file: string): readonly string[] => new Problems("p.conf", seedOf(file).problems).lines

test("texts are found by the address of their section, with their lines", () => {
  const seed = seedOf(`[connection:kafka]
Bootstrap_Servers =
  a:1
  b:2
[pipeline:web hooks:WebHookSource]
[pipeline : web hooks : KafkaSink]
topic = \${PASSWORD}
[admin]
[service]
`)
  expect(seed.problems).toEqual([])
  expect(seed.connections.get("kafka")).toEqual({
    name: "connection:kafka",
    line: 1,
    texts: new Map([
      ["bootstrap_servers", { key: "Bootstrap_Servers", line: 2, text: "a:1\nb:2", quotable: true }],
    ]),
  })
  const components = seed.pipelines.get("web hooks")!.components
  expect([...components.keys()]).toEqual(["WebHookSource", "KafkaSink"])
  expect(components.get("KafkaSink")!.texts.get("topic")).toEqual({
    key: "topic",
    line: 7,
    text: "hunter2",
    quotable: false,
  })
  expect(seed.admin?.line).toBe(8)
  expect(seed.service?.line).toBe(9)
})

test("a line end that is put in makes no key", () => {
  const texts = seedOf("[service]\nx = ${LINES}\n  end").service!.texts
  expect([...texts.keys()]).toEqual(["x"])
  expect(texts.get("x")?.text).toBe("a\ntopic = b\nend")
})

describe("names of sections", () => {
  test.each([
    ["[conection:kafka]", "is unknown; did you mean [connection:<id>]?"],
    ["[Pipeline:a:B]", "is unknown; did you mean [pipeline:<id>:<Component>]?"],
    ["[Admin]", "is unknown; did you mean [admin]?"],
    ["[admin:x]", "is unknown; did you mean [admin]?"],
    [
      "[passwords]",
      "is unknown; sections are [connection:<id>], [pipeline:<id>:<Component>], [admin], [service]",
    ],
    ["[]", "is unknown; sections are [connection:<id>], [pipeline:<id>:<Component>], [admin], [service]"],
    ["[connection]", "is not the name of a connection; write [connection:<id>], without : in the id"],
    ["[connection:]", "is not the name of a connection; write [connection:<id>], without : in the id"],
    ["[connection:a:b]", "is not the name of a connection; write [connection:<id>], without : in the id"],
    [
      "[pipeline:a]",
      "names no component; write [pipeline:<id>:<Component>], such as [pipeline:a:BrokerSink]",
    ],
    [
      "[pipeline::B]",
      "is not the name of a pipeline's component; write [pipeline:<id>:<Component>], without : in the id",
    ],
    [
      "[pipeline:a:b:C]",
      "is not the name of a pipeline's component; write [pipeline:<id>:<Component>], without : in the id",
    ],
  ])("%s", (name, problem) => {
    expect(problemsOf(`# a comment\n${name}\n`)).toEqual([`p.conf:2: ${name}: ${problem}`])
  })

  test("a section that is there twice in another spelling", () => {
    expect(problemsOf("[connection:a]\n[connection: a]")).toEqual([
      "p.conf:2: [connection: a]: is there twice; put its keys into the first one, in line 1",
    ])
  })
})

test("problems of every kind are told in the order of their lines", () => {
  expect(
    problemsOf("x = 1\n[conection:k]\n[service]\na = ${NONE}\nb =\n  ${NONE:-${PASSWORD}}\nc\n"),
  ).toEqual([
    "p.conf:1: stands before the first section; begin with one such as [connection:kafka]",
    "p.conf:2: [conection:k]: is unknown; did you mean [connection:<id>]?",
    "p.conf:4: [service] a: the environment has no NONE; set it, or give a default: ${NONE:-default}",
    "p.conf:6: [service] b: the default of ${NONE} can't hold another ${",
    "p.conf:7: [service]: the line has neither = nor :; write key = value, or indent it to continue a value",
  ])
})

test("any text gives a seed, with problems or without", () => {
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
        for (const { line } of seedOf(bytes).problems) {
          if (line !== undefined) expect(line).toBeWithin(1, lines + 1)
        }
      },
    ),
  )
})

test("a file that was written is read back as it was", () => {
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
      const seed = seedOf(lines.join(eol))
      expect(seed.problems).toEqual([])
      const read = [...seed.connections].map(([id, { texts }]) => ({
        id,
        entries: [...texts].map(([name, { text }]) => [name, text]),
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
