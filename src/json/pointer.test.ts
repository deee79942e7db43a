import { describe, expect, test } from "bun:test"
import * as fc from "fast-check"
import { parsePointer } from "./pointer.ts"

const find = (pointer: string, json: string): string | undefined => {
  const found = parsePointer(pointer)!(Buffer.from(json))
  return found && Buffer.from(found).toString()
}

describe("a pointer finds a value's bytes", () => {
  const json = `\ufeff {
    "id" : 12345678901234567890,
    "price": 1.0e400,
    "name": "M\\u00fcller \\"x\\" \\ud83d\\ude00",
    "plain": "é",
    "empty": "", "yes": true, "no": false, "nothing": null,
    "list": [ 10 , [ "a" , "b" ], {"deep": [{}, {"x": "y"}]} ],
    "a/b": 1, "m~n": 2, "~1": 3, "": {"": 4},
    "0": "zero",
    "\\u006bey": "escaped",
    "twice": 1, "twice": {"first": true}, "tw\\u0069ce": {"last": [ ] }
  } `
  test.each([
    ["/id", "12345678901234567890"],
    ["/price", "1.0e400"],
    ["/name", 'Müller "x" 😀'],
    ["/plain", "é"],
    ["/empty", ""],
    ["/yes", "true"],
    ["/no", "false"],
    ["/nothing", undefined],
    ["/list/0", "10"],
    ["/list/1", '[ "a" , "b" ]'],
    ["/list/1/1", "b"],
    ["/list/2/deep/1/x", "y"],
    ["/list/2/deep/0", "{}"],
    ["/list/3", undefined],
    ["/list/00", undefined],
    ["/list/-", undefined],
    ["/list/length", undefined],
    ["/list/-1", undefined],
    ["/a~1b", "1"],
    ["/m~0n", "2"],
    ["/~01", "3"],
    ["/", '{"": 4}'],
    ["//", "4"],
    ["/0", "zero"],
    ["/key", "escaped"],
    ["/twice", '{"last": [ ] }'],
    ["/twice/last", "[ ]"],
    ["/twice/first", undefined],
    ["/id/0", undefined],
    ["/plain/0", undefined],
    ["/missing/at/all", undefined],
    ["/toString", undefined],
  ])("%s", (pointer, expected) => {
    expect(find(pointer, json)).toBe(expected!)
  })

  test("the empty pointer finds the whole text, without surrounding white space", () => {
    expect(find("", '\ufeff\n{ "a" : 1 }\n')).toBe('{ "a" : 1 }')
  })

  test("a lone surrogate becomes U+FFFD", () => {
    expect(find("/a", '{"a":"x\\ud800"}')).toBe("x\ufffd")
  })

  test("next to and below 100,000 nested arrays", () => {
    const deep = "[".repeat(1e5) + "]".repeat(1e5)
    expect(find("/b", `{"a":${deep},"b":1}`)).toBe("1")
    expect(find("/0/0/0", deep)).toHaveLength(2e5 - 6)
  })

  test("the result does not share the text's bytes", () => {
    const json = Buffer.from('{"a":"kept"}')
    const found = parsePointer("/a")!(json)!
    json.fill(0x20)
    expect(Buffer.from(found).toString()).toBe("kept")
  })
})

test.each(["id", "#/id", "/~", "/~2", "/a/~x", "/a~"])("%s is not a pointer", (text) => {
  expect(parsePointer(text)).toBeUndefined()
})

test("on invalid JSON it terminates with some bytes, none, or a SyntaxError", () => {
  const broken = fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0a '), maxLength: 14 })
  fc.assert(
    fc.property(broken, fc.constantFrom("", "/a", "/a/0", "/0/a"), (text, pointer) => {
      try {
        expect(find(pointer, text) ?? "").toBeString()
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError)
      }
    }),
    { numRuns: 3000 },
  )
})

test("it finds the same as following JSON.parse's value", () => {
  const step = fc.constantFrom("a", "b", "", "/", "~", "é", "0", "1", "__proto__")
  const document = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(1, true, "text", "é\n", null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(step, tie("value"), { maxKeys: 4 }),
    ),
  })).value
  fc.assert(
    fc.property(
      document,
      fc.array(step, { maxLength: 4 }),
      fc.constantFrom(undefined, 2),
      (document, steps, indent) => {
        let expected: unknown = document
        for (const step of steps) {
          const holder = typeof expected === "object" && expected !== null ? expected : {}
          expected = Object.hasOwn(holder, step) ? (holder as { [name: string]: unknown })[step] : undefined
        }
        const pointer = steps.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")
        const found = find(pointer, JSON.stringify(document, undefined, indent))
        if (expected === undefined || expected === null) expect(found).toBeUndefined()
        else if (typeof expected === "string") expect(found).toBe(expected)
        else expect(JSON.parse(found!)).toEqual(expected)
      },
    ),
    { numRuns: 2000 },
  )
})
