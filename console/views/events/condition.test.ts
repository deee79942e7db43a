import { expect, test } from "bun:test"
import { narrowed, parseCondition } from "./condition.ts"

test.each([
  ["/type = invoice.*", "json:/type=invoice.*"],
  ["/type=invoice.*", "json:/type=invoice.*"],
  ["json:/a/b = 1 = 2", "json:/a/b=1 = 2"],
  ["  key = cus_9 ", "key=cus_9"],
  ["header:X-Kind= a", "header:X-Kind=a"],
  ["/=", "json:/="],
  ["invoice.paid", "text=invoice.paid"],
  ["type = x", "text=type = x"],
  ["acme && /type = invoice.* && key=cus_9", "text=acme && json:/type=invoice.* && key=cus_9"],
])("%s is %s, a condition of the API", (text, where) => {
  expect(parseCondition(text)).toEqual({ where })
})

test("nothing is no condition", () => expect(parseCondition("  ")).toEqual({ where: undefined }))

test.each(["header: = x", "= x", "/type", "key", "acme &&", "&& acme"])("%s says what to write", (text) =>
  expect(parseCondition(text)).toMatchObject({ problem: expect.stringContaining("/type = invoice.*") }),
)

test("a value narrows a filter; what its form can't hold is any text", () => {
  expect(narrowed("", "/type", "invoice.paid")).toBe("/type = invoice.paid")
  expect(narrowed(" acme ", "key", "a\nb && c ")).toBe("acme && key = a*b*c*")
  expect(narrowed("", "/a", "x".repeat(300))).toBe(`/a = ${"x".repeat(200)}*`)
  expect(narrowed("", "/a=b", "x")).toBeUndefined()
})
