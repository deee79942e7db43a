import { describe, expect, test } from "bun:test"
import { atOnce } from "../../clock/slices.ts"
import { readIni } from "./ini.ts"
import { Problems } from "./problems.ts"

/** What is read, as `section:line`, then `key@line` with the value's lines, and the problems. */
function read(file: string | Uint8Array): {
  values: { [section: string]: { [key: string]: string } }
  problems: readonly string[]
} {
  const problems = new Problems("f.conf")
  const bytes = typeof file === "string" ? new TextEncoder().encode(file) : file
  const { sections } = atOnce(readIni(bytes, (place, text) => problems.add(place, text)))
  const values = sections.map(({ name, line, entries }) => [
    `${name}:${line}`,
    Object.fromEntries(
      [...entries.values()].map((e) => [`${e.key}@${e.line}`, e.lines.map(({ text }) => text).join("\n")]),
    ),
  ])
  return { values: Object.fromEntries(values), problems: problems.lines }
}

describe("a valid file", () => {
  test.each<[name: string, file: string, values: { [section: string]: { [key: string]: string } }]>([
    ["keys with = and :", "[a]\nx = 1\ny: 2\nz=3", { "a:1": { "x@2": "1", "y@3": "2", "z@4": "3" } }],
    [
      "the first separator ends the key",
      "[a]\nx = b:c=d\ny: b=c",
      { "a:1": { "x@2": "b:c=d", "y@3": "b=c" } },
    ],
    ["colons in a section's name", "[pipeline:a:B]\n[ b : c ]", { "pipeline:a:B:1": {}, "b : c:2": {} }],
    ["comment lines", "# one\n[a]\n; two\nx = 1\n  # three\n", { "a:2": { "x@4": "1" } }],
    ["# and ; inside a value", "[a]\nx = p#w;d # no comment", { "a:1": { "x@2": "p#w;d # no comment" } }],
    ["an empty file", "", {}],
    ["an empty value", "[a]\nx =\ny:", { "a:1": { "x@2": "", "y@3": "" } }],
    ["continuation lines", "[a]\nx = 1\n  2\n\t3\ny = 4", { "a:1": { "x@2": "1\n2\n3", "y@5": "4" } }],
    ["a value that begins below its key", "[a]\nx =\n  1\n  2", { "a:1": { "x@2": "1\n2" } }],
    ["a comment between continuation lines", "[a]\nx = 1\n# c\n  ; c\n  2", { "a:1": { "x@2": "1\n2" } }],
    [
      "a blank line between continuation lines",
      "[a]\nx = 1\n\n  2\n\ny = 3",
      { "a:1": { "x@2": "1\n\n2", "y@6": "3" } },
    ],
    [
      "a section's or key's form in a continued value",
      "[a]\nx =\n  [b]\n  y = 1",
      { "a:1": { "x@2": "[b]\ny = 1" } },
    ],
    [
      "keys that are all indented",
      "  [a]\n  x = 1\n  y = 2\n    3",
      { "a:1": { "x@2": "1", "y@3": "2\n3" } },
    ],
    ["CRLF", "[a]\r\nx = 1\r\n  2\r\n", { "a:1": { "x@2": "1\n2" } }],
    ["a byte-order mark", "\ufeff[a]\nx = 1", { "a:1": { "x@2": "1" } }],
    ["characters beyond ASCII", "[a]\nx = žluťoučký \ufffd 🐎", { "a:1": { "x@2": "žluťoučký \ufffd 🐎" } }],
    [
      "lines of a Router, whatever is in a pattern",
      "[a:b: Router ]\nBy: json:/x\ninvoice.* = p\na:b = q\nx=y = z\n* = r\n  s\nunsigned=true",
      {
        "a:b: Router:1": {
          "By@2": "json:/x",
          "routes@3": "invoice.* = p\na:b = q\nx=y = z\n* = r\ns",
          "unsigned@8": "true",
        },
      },
    ],
    [
      "lines of a Router's key and after it",
      "[a:b:Router]\nroutes =\n  by = p\nq = r",
      { "a:b:Router:1": { "routes@2": "by = p\nq = r" } },
    ],
    [
      "lines of a Router after its empty key",
      "[a:b:Router]\nroutes =\nq = r\n  s = t",
      { "a:b:Router:1": { "routes@2": "q = r\ns = t" } },
    ],
    ["keys in any case", "[a]\nToPic = 1", { "a:1": { "ToPic@2": "1" } }],
  ])("%s", (_, file, values) => {
    expect(read(file)).toEqual({ values, problems: [] })
  })
})

describe("broken lines are reported and the rest is read", () => {
  test.each<
    [name: string, file: string, problems: string[], values: { [section: string]: { [key: string]: string } }]
  >([
    ["a section without its ]", "[a\nx = 1", ["f.conf:1: [a]: missing closing ]"], { "a:1": { "x@2": "1" } }],
    [
      "text after a section",
      "[a] # why\nx = 1",
      ["f.conf:1: [a]: text after the closing ]; comments need a line of their own"],
      { "a:1": { "x@2": "1" } },
    ],
    [
      "keys before the first section",
      "x = 1\ny = 2\n[a]\nz = 3",
      [
        "f.conf:1: key outside a section; only include may stand there; begin with a section such as [connection:kafka]",
      ],
      { "a:3": { "z@4": "3" } },
    ],
    [
      "a line without a separator, which may be a piece of a secret",
      "[a]\nhunter2\n  more\nx = 1",
      ["f.conf:2: [a]: no = or : in the line; write key = value, or indent the line to continue a value"],
      { "a:1": { "x@4": "1" } },
    ],
    [
      "a line of base64, which may be a piece of a key",
      "[a]\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ==\nx = 1",
      ["f.conf:2: [a]: invalid key; write key = value, or indent the line to continue a value"],
      { "a:1": { "x@3": "1" } },
    ],
    [
      "a separator without a key",
      "[a]\n = 1\nx = 1",
      ["f.conf:2: [a]: invalid key; write key = value, or indent the line to continue a value"],
      { "a:1": { "x@3": "1" } },
    ],
    [
      "a key given twice, in another case",
      "[a]\nx = 1\nX = 2\n  3\nx = 4",
      [
        "f.conf:3: [a] X: duplicate key, first set in line 2; remove one of them",
        "f.conf:5: [a] x: duplicate key, first set in line 2; remove one of them",
      ],
      { "a:1": { "x@2": "1" } },
    ],
    [
      "a section given twice",
      "[a]\nx = 1\n[b]\n[a]\nx = 2\ny = 3",
      [
        "f.conf:4: [a]: duplicate section; move its keys to line 1",
        "f.conf:5: [a] x: duplicate key, first set in line 2; remove one of them",
      ],
      { "a:1": { "x@2": "1", "y@6": "3" }, "b:3": {} },
    ],
  ])("%s", (_, file, problems, values) => {
    expect(read(file)).toEqual({ values, problems })
  })

  test("lines that are not UTF-8", () => {
    const file = Buffer.concat([
      Buffer.from("[a]\nx = 1\ny = "),
      Buffer.from([0xff, 0x0a]),
      Buffer.from("z = 2\n# "),
      Buffer.from([0xc3]),
    ])
    const { values, problems } = read(file)
    expect(problems).toEqual([
      "f.conf:3: invalid UTF-8; save the file as UTF-8",
      "f.conf:5: invalid UTF-8; save the file as UTF-8",
    ])
    expect(values).toMatchObject({ "a:1": { "x@2": "1", "z@4": "2" } })
  })

  test("a file in UTF-16 is reported once", () => {
    expect(read(Buffer.from("\ufeff[a]\nx = 1\n", "utf16le"))).toEqual({
      values: {},
      problems: ["f.conf: not UTF-8 text (contains NUL bytes); save the file as UTF-8"],
    })
  })
})
