import { expect, test } from "bun:test"
import { assert, dictionary, jsonValue, property, string } from "fast-check"
import { findDuplicateName } from "./duplicates.ts"

const find = (json: string): number | undefined => findDuplicateName(Buffer.from(json), JSON.parse(json))

test.each([
  ['{"a":1,"a":2}', 7],
  ['{"a":1,"a":1}', 7],
  ['{"a":1,"\\u0061":2}', 7],
  ['{"\\u0061":1,"a":2}', 12],
  ['{"é":1,"\\u00e9":2}', 8],
  ['{"":1,"":2}', 6],
  ['{"__proto__":1,"__proto__":2}', 15],
  ['{"a":{"b":1, "b" : 2}}', 13],
  ['[[{"a":[]},{"b":0,"b":0}]]', 18],
  ['{"a":{"x":1},"b":2,"a":{"y":1}}', 19],
  ['{"a":":","a":"\\"a\\":"}', 9],
  [`${"[".repeat(50_000)}{"a":1,"a":2}${"]".repeat(50_000)}`, 50_007],
])("a duplicate name is found", (json, position) => {
  expect(find(json)).toBe(position)
})

test.each([
  "{}",
  "1",
  '"a:b"',
  '{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}',
  '{"a":"{\\"a\\":1,\\"a\\":2}"}',
  '{"a":1,"A":1,"a ":1,"\\u0061b":1}',
  '{"\\ud800":1,"\\ud801":1}',
  '{"__proto__":1,"constructor":1,"0":1,"00":1}',
])("%s has none", (json) => {
  expect(find(json)).toBeUndefined()
})

test("serialised JSON has none; repeating any member gives one", () => {
  assert(
    property(dictionary(string(), jsonValue(), { minKeys: 1 }), (object) => {
      const json = JSON.stringify(object)
      expect(find(json)).toBeUndefined()
      const [name] = Object.keys(JSON.parse(json) as object)
      expect(find(`${json.slice(0, -1)},${JSON.stringify(name)}:null}`)).toBe(Buffer.byteLength(json))
    }),
  )
})
