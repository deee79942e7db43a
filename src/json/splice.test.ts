import { describe, expect, test } from "bun:test"
import { toName } from "./name.ts"
import { splice } from "./splice.ts"

const NAMES = [toName("received_at"), toName("source")]
const MEMBERS = '"received_at":"T","source":"webhook"'
const spliced = (body: string): string =>
  Buffer.from(splice(Buffer.from(body), NAMES, Buffer.from(MEMBERS))).toString()

describe("members are put last, in place of those of their names", () => {
  // @ stands for the new members.
  const cases: [name: string, body: string, expected: string][] = [
    ["an empty object", "{}", "{@}"],
    ["an empty object with white space", " { \n} ", " { \n@} "],
    ["an object", '{"a":1}', '{"a":1,@}'],
    ["white space inside and around", '\r\n\t{ "a" : 1 \n}\n\n', '\r\n\t{ "a" : 1 \n,@}\n\n'],
    ["a byte-order mark", '\ufeff {"a":"\ufeff"}', ' {"a":"\ufeff",@}'],
    ["only such a member", '{"source":1}', "{@}"],
    ["only such members, with white space", ' { "source" : 1 , "received_at" : [ ] } ', " {@} "],
    ["the first member", '{ "source":1, "b":2 }', '{ "b":2 ,@}'],
    ["the first two members", '{"source":1,"received_at":2,"c":3}', '{"c":3,@}'],
    ["a member in the middle", '{"a":1, "source":2 ,"c":3}', '{"a":1,"c":3,@}'],
    ["the last member", '{"a":1 , "source":2 }', '{"a":1 ,@}'],
    ["the first and the last member", '{"source":1,"b":2,"source":3}', '{"b":2,@}'],
    ["one name several times", '{"source":1,"a":1,"source":2,"source":3,"b":2}', '{"a":1,"b":2,@}'],
    [
      "lines of a pretty printer",
      '{\n  "a": 1,\n  "source": 2,\n  "b": 3\n}\n',
      '{\n  "a": 1,\n  "b": 3\n,@}\n',
    ],
    ["an escaped name", '{"\\u0073ource":1,"a":2}', '{"a":2,@}'],
    ["a name escaped throughout", `{"a":2,"${escaped("received_at")}":1}`, '{"a":2,@}'],
    ["escapes in capitals", '{"re\\u0063eived\\u005Fat":1}', "{@}"],
    [
      "a name that only begins alike",
      '{"sources":1,"sourc":2,"\\u0073ources":3}',
      '{"sources":1,"sourc":2,"\\u0073ources":3,@}',
    ],
    ["a name with an escaped backslash", '{"\\\\u0073ource":1}', '{"\\\\u0073ource":1,@}'],
    ["a name in other letters", '{"Source":1,"sourcе":2}', '{"Source":1,"sourcе":2,@}'],
    [
      "a nested name",
      '{"a":{"source":1,"b":[{"received_at":2}]}}',
      '{"a":{"source":1,"b":[{"received_at":2}]},@}',
    ],
    [
      "a nested name beside one at the top",
      '{"a":{"source":1},"source":{"source":[{"a":"}"}]}}',
      '{"a":{"source":1},@}',
    ],
    ["the name as a value", '{"a":"source","b":["received_at"]}', '{"a":"source","b":["received_at"],@}'],
    ["the name in a string", '{"a":"\\"source\\":1,","b":"}{]["}', '{"a":"\\"source\\":1,","b":"}{][",@}'],
    [
      "strings that end in backslashes",
      '{"a":"\\\\","source":"\\\\\\"","b":"\\\\"}',
      '{"a":"\\\\","b":"\\\\",@}',
    ],
    [
      "numbers as they are spelled",
      '{"a":1e400,"b":12345678901234567890,"c":-0.0,"d":1.0E+2}',
      '{"a":1e400,"b":12345678901234567890,"c":-0.0,"d":1.0E+2,@}',
    ],
    ["other names given twice", '{"a":1,"a":2}', '{"a":1,"a":2,@}'],
    ["lone surrogates", '{"a":"\\ud800","\\udfff":1}', '{"a":"\\ud800","\\udfff":1,@}'],
    ["letters of several bytes", '{"é":"漢😀","source":"ü"}', '{"é":"漢😀",@}'],
    [
      "members of every kind between",
      '{"a":true,"source":null,"b":false,"source":-1e5,"c":null}',
      '{"a":true,"b":false,"c":null,@}',
    ],
  ]
  test.each(cases)("%s", (_name, body, expected) => {
    expect(spliced(body)).toBe(expected.replace("@", MEMBERS))
  })

  test("100,000 nested arrays", () => {
    const deep = "[".repeat(1e5) + "]".repeat(1e5)
    expect(spliced(`{"source":${deep},"a":${deep}}`)).toBe(`{"a":${deep},${MEMBERS}}`)
  })

  test("the body's bytes are not changed, nor shared with the result", () => {
    const body = Buffer.from('{"a":1,"source":2}')
    const result = splice(body, NAMES, Buffer.from(MEMBERS))
    body.fill(0x20)
    expect(Buffer.from(result).toString()).toBe(`{"a":1,${MEMBERS}}`)
  })

  test("a view is read by its own bounds", () => {
    const body = new Uint8Array(Buffer.from('}{"a":1,"source":2}}')).subarray(1, -1)
    expect(Buffer.from(splice(body, NAMES, Buffer.from(MEMBERS))).toString()).toBe(`{"a":1,${MEMBERS}}`)
  })
})

function escaped(name: string): string {
  return [...name].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")
}
