import { describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import { HooklineError } from "../errors.ts"
import type { Event } from "../pipeline/event.ts"
import type { Dropped, Rejected } from "../pipeline/outcome.ts"
import { validator } from "./validator.ts"
import { componentContext } from "../../test/support/component-context.ts"
import { eventOf, IN_TIME } from "../../test/support/event.ts"
import { folderOfTests } from "../../test/support/hookline.ts"

const folder = folderOfTests()

let files = 0
function schemaFile(content: unknown): string {
  const path = join(folder.path, `schema-${++files}.json`)
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content))
  return path
}

const logged: string[] = []
const log = pino({}, { write: (line) => void logged.push(line) })

function validate(options: { on_invalid?: "reject" | "drop"; schema?: string } = {}) {
  return validator.create(
    { on_invalid: options.on_invalid ?? "reject", schema: options.schema },
    componentContext({ log }),
  )
}

const event = (body: string | Uint8Array): Event => eventOf(body)

test("a JSON object passes, the same event with the same bytes", () => {
  const given = event(' {"a":1e400,"a":1}\n')
  const { body } = given
  expect(validate()(given, IN_TIME)).toBe(given)
  expect(given.body).toBe(body)
})

const invalid: [body: string | Uint8Array, reason: string, detail: string][] = [
  ["", "empty_body", "The body is empty; it must be a JSON object."],
  [Buffer.from([0x7b, 0xff]), "invalid_utf8", "The body is not valid UTF-8 at byte 1."],
  ['{"a":1,}', "invalid_json", "The body is not valid JSON: expected a name in quotes at byte 7."],
  [" [1]", "not_an_object", "The body is not a JSON object: expected { at byte 1."],
]

test.each(invalid)("%p is answered 400 with the rule and the position", (body, reason, detail) => {
  expect(validate()(event(body), IN_TIME) as Rejected).toMatchObject({
    kind: "rejected",
    status: 400,
    reason,
    detail,
  })
})

test.each(invalid)("%p is dropped where on_invalid is drop", (body, reason, detail) => {
  expect(validate({ on_invalid: "drop" })(event(body), IN_TIME) as Dropped).toMatchObject({
    kind: "dropped",
    reason,
    detail,
  })
})

describe("with a schema", () => {
  const schema = schemaFile({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    required: ["id"],
    properties: {
      id: { type: "string" },
      amount: { $ref: "#/$defs/positive" },
      items: { type: "array", prefixItems: [{ const: "secret" }], items: false },
      when: { format: "date-time" },
    },
    patternProperties: { "^x": { type: "null" } },
    $defs: { positive: { exclusiveMinimum: 0 } },
  })

  test.each(['{"id":"a"}', '\ufeff{"id":"a","amount":1,"items":["secret"],"when":"never"}'])(
    "%s, which matches, goes on",
    (body) => {
      const given = event(body)
      expect(validate({ schema })(given, IN_TIME)).toBe(given)
    },
  )

  test.each([
    ["{}", "/id is missing (#/required)"],
    ['{"id":4711}', "/id does not satisfy #/properties/id/type"],
    ['{"id":"a","amount":-4711}', "/amount does not satisfy #/properties/amount/$ref/exclusiveMinimum"],
    ['{"id":"a","items":["4711"]}', "/items/0 does not satisfy #/properties/items/0/const"],
    [
      `{"id":"a","x${"y".repeat(1000)}":4711}`,
      `/x${"y".repeat(198)}... does not satisfy #/patternProperties/^x/type`,
    ],
  ])("%s is answered 400 with the place and the rule, not with the value", (body, problem) => {
    const outcome = validate({ schema })(event(body), IN_TIME) as Rejected
    expect(outcome).toMatchObject({ kind: "rejected", status: 400, reason: "schema_mismatch" })
    expect(outcome.detail).toBe(`The body does not match the schema: ${problem}.`)
    expect(outcome.detail).not.toContain("4711")
  })

  test("what does not match is dropped where on_invalid is drop", () => {
    expect(validate({ schema, on_invalid: "drop" })(event("{}"), IN_TIME)).toMatchObject({
      kind: "dropped",
      reason: "schema_mismatch",
    })
  })

  test("patterns take a time that is bounded by the body's length", () => {
    const patterns = { a: "\\s+$", b: "^(x+)+$", c: "^(x|x)*$" }
    const properties = Object.fromEntries(
      Object.entries(patterns).map(([name, pattern]) => [name, { pattern }]),
    )
    const schema = schemaFile({ properties, patternProperties: { "^(y+)+$": { type: "null" } } })
    const bodies = [
      { a: `${" ".repeat(1_000_000)}!` },
      { b: `${"x".repeat(1_000_000)}!` },
      { c: `${"x".repeat(1_000_000)}!` },
    ]
    for (const body of bodies)
      expect(validate({ schema })(event(JSON.stringify(body)), IN_TIME)).toMatchObject({
        reason: "schema_mismatch",
      })
    expect(validate({ schema })(event(`{"${"y".repeat(1_000_000)}!":1}`), IN_TIME)).not.toHaveProperty(
      "reason",
    )
    expect(validate({ schema })(event('{"yy":1}'), IN_TIME)).toMatchObject({ reason: "schema_mismatch" })
  })

  test("names of JavaScript's own objects are not members", () => {
    const schema = schemaFile({ required: ["toString"] })
    expect(validate({ schema })(event("{}"), IN_TIME)).toMatchObject({ reason: "schema_mismatch" })
    expect(validate({ schema })(event('{"toString":1}'), IN_TIME)).not.toHaveProperty("reason")
  })

  test("100,000 nested arrays are refused where the schema has to follow them", () => {
    const schema = schemaFile({
      properties: { a: { $ref: "#/$defs/nested" } },
      $defs: { nested: { type: "array", items: { $ref: "#/$defs/nested" } } },
    })
    const nested = "[".repeat(1e5) + "]".repeat(1e5)
    expect(validate({ schema })(event(`{"a":${nested}}`), IN_TIME)).toMatchObject({
      reason: "schema_mismatch",
      detail: "The body is nested too deeply to be validated.",
    })
    expect(validate({ schema })(event(`{"b":${nested}}`), IN_TIME)).not.toHaveProperty("reason")
  })

  test.each([
    [
      "an item that contains did not find, with unevaluatedItems",
      { properties: { a: { contains: { type: "string" }, unevaluatedItems: false } } },
      '{"a":["x",1]}',
    ],
    [
      "an empty list, with contains and prefixItems",
      { properties: { a: { contains: {}, prefixItems: [{ const: 1 }] } } },
      '{"a":[]}',
    ],
    [
      "a member that a failing if named, with unevaluatedProperties",
      {
        if: { properties: { a: { const: 1 } }, required: ["a"] },
        else: { properties: { b: true } },
        unevaluatedProperties: false,
      },
      '{"a":2,"b":1}',
    ],
    [
      "a list of texts, where the $dynamicRef leads to numbers",
      {
        $id: "https://example.com/numbers",
        $ref: "list",
        $defs: {
          numbers: { $dynamicAnchor: "item", type: "number" },
          list: {
            $id: "list",
            properties: { a: { items: { $dynamicRef: "#item" } } },
            $defs: { any: { $dynamicAnchor: "item" } },
          },
        },
      },
      '{"a":["x"]}',
    ],
    [
      "a member __proto__ of another type",
      '{"properties":{"__proto__":{"type":"number"}}}',
      '{"__proto__":"x"}',
    ],
  ])("%s is invalid", (_what, schema, body) => {
    expect(validate({ schema: schemaFile(schema) })(event(body), IN_TIME)).toMatchObject({
      reason: "schema_mismatch",
    })
  })

  test.each([
    ["https://json-schema.org/draft/2019-09/schema", "$defs"],
    ["http://json-schema.org/draft-07/schema#", "definitions"],
  ])("one of %s is evaluated as such", ($schema, definitions) => {
    const process = validate({
      schema: schemaFile({
        $schema,
        properties: { a: { items: [{ $ref: `#/${definitions}/text` }], additionalItems: false } },
        [definitions]: { text: { type: "string" } },
      }),
    })
    expect(process(event('{"a":["x"]}'), IN_TIME)).not.toHaveProperty("reason")
    expect(process(event('{"a":["x",1]}'), IN_TIME)).toMatchObject({ reason: "schema_mismatch" })
  })

  test("a keyword that is not known is an annotation, and the log says so", () => {
    const schema = schemaFile({ requried: ["id"] })
    expect(validate({ schema })(event("{}"), IN_TIME)).not.toHaveProperty("reason")
    expect(logged.join("")).toContain("requried")
  })
})

describe("a schema that can't be used is an error of the configuration that names the file", () => {
  test.each([
    ["no file", join(folder.path, "missing.json"), "it does not exist"],
    ["a folder", folder.path, "it is a folder"],
    ["no JSON", schemaFile('{"type":}'), "expected a value at byte 8"],
    ["no object", schemaFile("true"), "is not a JSON object"],
    ["an unknown type", schemaFile({ type: "text" }), 'Unknown type: "text" at #'],
    ["a pattern that is none", schemaFile({ pattern: "(" }), "regular expression"],
    ["a lookahead", schemaFile({ properties: { a: { pattern: "^(?!b)" } } }), "it has (?!; write it without"],
    [
      "a backreference",
      schemaFile({ patternProperties: { "(a)\\1": {} } }),
      "can't be matched in bounded time",
    ],
    [
      "another draft",
      schemaFile({ $schema: "http://json-schema.org/draft-04/schema#" }),
      "its $schema at # is none of the drafts 2020-12, 2019-09 and draft-07",
    ],
    [
      "a $dynamicRef with unevaluatedProperties",
      schemaFile({ allOf: [{ $dynamicRef: "#a" }], unevaluatedProperties: false }),
      "$dynamicRef at #/allOf/0 is not supported in a schema with unevaluatedProperties; use $ref",
    ],
    [
      "a keyword of another type",
      schemaFile({ properties: { a: { minimum: "5" } } }),
      'Unexpected type for "minimum" at #/properties/a',
    ],
    [
      "a reference elsewhere",
      schemaFile({ $ref: "https://example.com/a.json" }),
      "https://example.com/a.json",
    ],
    ["a reference to nothing", schemaFile({ $ref: "#/$defs/none" }), "#/$defs/none"],
  ])("%s", (_name, schema, problem) => {
    let fault: unknown
    try {
      validate({ schema })
    } catch (error) {
      fault = error
    }
    expect(fault).toBeInstanceOf(HooklineError)
    const { code, message } = fault as HooklineError
    expect(code).toBe("config")
    expect(message).toContain(schema)
    expect(message).toContain(problem)
  })
})
