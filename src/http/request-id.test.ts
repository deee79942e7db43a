import { expect, test } from "bun:test"
import { newRequestId, proxyRequestId } from "./request-id.ts"

test("ids are short, of one process, and different", () => {
  const ids = Array.from({ length: 1000 }, newRequestId)
  expect(new Set(ids).size).toBe(1000)
  expect(new Set(ids.map((id) => id.split("-")[0])).size).toBe(1)
  for (const id of ids) expect(id).toMatch(/^[0-9a-z]{8}-[0-9a-z]+$/)
})

test.each([
  ["7b1e2c0a-77aa-4f0e-9a57-1f9d2d1d4a01", true],
  ["Root=1-67891233-abcdef012345678912345678", true],
  ["a".repeat(128), true],
  ["a".repeat(129), false],
  ["", false],
  ["one two", false],
  ["one, two", false],
  ['"quoted"', false],
  ["\u00fcml\u00e4ut", false],
])("the id %j of a proxy is taken: %p", (given, isTaken) => {
  expect(proxyRequestId(new Headers({ "X-Request-Id": given }))).toBe(isTaken ? given : undefined)
})

test("without the header there is none", () => {
  expect(proxyRequestId(new Headers())).toBeUndefined()
})
