import { messageInFile } from "../../message.ts"
import { describe, expect, test } from "bun:test"
import {
  duration,
  integer,
  list,
  number,
  oneOf,
  path,
  size,
  text,
  WrongValue,
  type OptionSet,
} from "./option-types.ts"

const context = { baseDir: "/etc/hookline" }
const doc = ""

const forms = {
  text: text({ doc }),
  emptyText: text({ doc, default: "" }),
  topic: text({ doc, pattern: /^[a-z]+$/, form: "a topic" }),
  even: text({ doc, accepts: (value) => value.length % 2 === 0, form: "of even length" }),
  integer: integer({ doc, min: 0, max: 65_535 }),
  number: number({ doc, min: 0.001, max: 1000 }),
  word: oneOf(["PLAIN", "SCRAM-SHA-256"], { doc }),
  words: oneOf(["a", "b", "c"], { doc }),
  duration: duration({ doc, minMs: 10, maxMs: 3_600_000 }),
  size: size({ doc, max: 1024 ** 4 }),
  list: list(integer({ doc, min: 1, max: 9 }), { doc }),
  path: path({ doc }),
} satisfies OptionSet
const formOf = (name: keyof typeof forms): OptionSet[string] => forms[name]

const DURATION = "is not a duration such as 500ms, 5s, 2m, 24h or 7d"
const SIZE = "is not a size such as 512KiB, 1MiB or 2GiB"

describe("texts of the file", () => {
  test.each<[keyof typeof forms, string, unknown]>([
    ["text", " as it is ", " as it is "],
    ["emptyText", "", ""],
    ["topic", "topic", "topic"],
    ["even", "ab", "ab"],
    ["integer", "0", 0],
    ["integer", "65535", 65_535],
    ["integer", "+007", 7],
    ["number", "0.5", 0.5],
    ["number", "1000", 1000],
    ["word", "plain", "PLAIN"],
    ["word", "Scram-Sha-256", "SCRAM-SHA-256"],
    ["duration", "10ms", 10],
    ["duration", "5s", 5000],
    ["duration", "1.5 S", 1500],
    ["duration", "2m", 120_000],
    ["duration", "1h", 3_600_000],
    ["size", "1000", 1000],
    ["size", "512KiB", 524_288],
    ["size", "1 mib", 1_048_576],
    ["size", "1kB", 1000],
    ["size", "0.5GiB", 536_870_912],
    ["list", "1,2", [1, 2]],
    ["list", "\n1\n 2,,3,\n", [1, 2, 3]],
    ["path", "a/../b", "/etc/hookline/b"],
    ["path", "/a", "/a"],
  ])("%s: %p is %p", (name, value, expected) => {
    expect(formOf(name).parse(value, context)).toEqual(expected)
  })

  test.each<[keyof typeof forms, string, string]>([
    ["text", "", '"" is not a text'],
    ["topic", "A", '"A" is not a topic'],
    ["even", "abc", '"abc" is not of even length'],
    ["integer", "65536", '"65536" is not a whole number from 0 to 65535'],
    ["integer", "-1", '"-1" is not a whole number from 0 to 65535'],
    ["integer", "1e3", '"1e3" is not a whole number from 0 to 65535'],
    ["integer", "80 80", '"80 80" is not a whole number from 0 to 65535'],
    ["number", "0", '"0" is not a number from 0.001 to 1000'],
    ["number", "1e2", '"1e2" is not a number from 0.001 to 1000'],
    ["number", ".5", '".5" is not a number from 0.001 to 1000'],
    ["word", "PLAN", '"PLAN" is not PLAIN or SCRAM-SHA-256'],
    ["words", "d", '"d" is not one of a, b, c'],
    ["duration", "5", `"5" ${DURATION}`],
    ["duration", "5 sec", `"5 sec" ${DURATION}`],
    ["duration", "-5s", `"-5s" ${DURATION}`],
    ["duration", "9ms", '"9ms" must be from 10ms to 1h'],
    ["duration", "99999999999999999999d", '"99999999999999999999d" must be from 10ms to 1h'],
    ["size", "1K", `"1K" ${SIZE}`],
    ["size", "1ib", `"1ib" ${SIZE}`],
    ["size", "2TiB", '"2TiB" must be from 0 to 1099511627776 bytes'],
    ["list", "1,10", '"10" is not a whole number from 1 to 9'],
    ["list", ",", '"," is not a list (commas or lines), each item a whole number from 1 to 9'],
    ["path", "a\0b", String.raw`"a\u0000b" is not a path`],
  ])("%s: %p is wrong: %s", (name, value, message) => {
    const parse = (): unknown => formOf(name).parse(value, context)
    expect(parse).toThrow(WrongValue)
    expect(parse).toThrow(expect.objectContaining({ message }))
    // What is said of a value that must not be printed does not hold it.
    const said = ((): string => {
      try {
        return String(parse())
      } catch (error) {
        return messageInFile((error as WrongValue).unquoted!)
      }
    })()
    expect(said).toStartWith(name === "list" ? "is not " : message.slice(JSON.stringify(value).length + 1))
  })

  test("a URL is quoted without user and password", () => {
    expect(() => forms.integer.parse("redis://me:obviously@fake@host:1/x", context)).toThrow(
      '"redis://…@host:1/x" is not',
    )
  })

  test("a long value is shortened", () => {
    expect(() => forms.integer.parse("9".repeat(1000), context)).toThrow(`"${"9".repeat(79)}…" is not`)
  })
})

describe("values given in code", () => {
  test("durations and sizes can be spelled as in the file", () => {
    expect(forms.duration.fromCode("5s")).toBe(5000)
    expect(forms.size.fromCode("1MiB")).toBe(1024 * 1024)
  })

  test.each<[keyof typeof forms, unknown]>([
    ["text", "a"],
    ["emptyText", ""],
    ["integer", 1],
    ["word", "PLAIN"],
    ["duration", 10],
    ["size", 0],
    ["list", [1, 9]],
    ["path", "relative/is/fine"],
  ])("%s: %p is right", (name, value) => {
    expect(formOf(name).fromCode(value)).toEqual(value)
  })

  test.each<[keyof typeof forms, unknown, string]>([
    ["text", "", '"" is not a text'],
    ["text", 1, "1 is not a text"],
    ["topic", null, "null is not a topic"],
    ["even", "abc", '"abc" is not of even length'],
    ["integer", "1", '"1" is not a whole number from 0 to 65535'],
    ["integer", Number.NaN, "NaN is not a whole number from 0 to 65535"],
    ["integer", 10n, "10 is not a whole number from 0 to 65535"],
    ["integer", {}, "a value of type object is not a whole number from 0 to 65535"],
    ["number", "1", '"1" is not a number from 0.001 to 1000'],
    ["number", Number.NaN, "NaN is not a number from 0.001 to 1000"],
    ["word", "plain", '"plain" is not PLAIN or SCRAM-SHA-256'],
    ["duration", "5 parsecs", '"5 parsecs" is not a duration such as 500ms, 5s, 2m, 24h or 7d'],
    ["duration", "1ms", '"1ms" must be from 10ms to 1h'],
    ["duration", Number.NaN, "NaN is not a number of milliseconds, or a duration such as"],
    ["duration", 1, "1 milliseconds must be from 10ms to 1h"],
    ["size", 1.5, "1.5 is not a number of bytes, or a size such as 512KiB, 1MiB or 2GiB"],
    ["size", "1 mebi", '"1 mebi" is not a size such as 512KiB, 1MiB or 2GiB'],
    ["size", 1024 ** 5, "1125899906842624 bytes must be from 0 to 1099511627776 bytes"],
    ["list", [1, 10], "10 is not a whole number from 1 to 9"],
    ["list", [], "is an empty array; give it items, or leave it out"],
    ["list", "1", '"1" is not an array, each item a whole number from 1 to 9'],
    ["path", "", '"" is not a path'],
  ])("%s: %p is wrong: %s", (name, value, message) => {
    expect(() => formOf(name).fromCode(value)).toThrow(message)
  })
})
