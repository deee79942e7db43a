import { expect, test } from "bun:test"
import { parseCondition } from "./condition.ts"

test.each([
  ["/type = invoice.*", "json:/type=invoice.*"],
  ["/type=invoice.*", "json:/type=invoice.*"],
  ["json:/a/b = 1 = 2", "json:/a/b=1 = 2"],
  ["  key = cus_9 ", "key=cus_9"],
  ["header:X-Kind= a", "header:X-Kind=a"],
  ["/=", "json:/="],
])("%s is %s, a condition of the API", (text, where) => {
  expect(parseCondition(text)).toEqual({ where })
})

test("nothing is no condition", () => expect(parseCondition("  ")).toEqual({ where: undefined }))

test.each(["invoice.paid", "type = x", "header: = x", "= x", "/type"])("%s says what to write", (text) =>
  expect(parseCondition(text)).toMatchObject({ problem: expect.stringContaining("/type = invoice.*") }),
)
