import { expect, test } from "bun:test"
import { beforeThese, withThese } from "./offsets.ts"

const at = (slot: number, offset: number) => ({ slot, offset })

test("what is before the records of a live event is named by partition", () => {
  expect(beforeThese([at(0, 7), at(0, 8), at(3, 1)], "0:9.2:5.3:2")).toBe("0:7.2:5.3:1")
  expect(beforeThese([], "")).toBe("")
})

test("records and what is before them are named by partition", () => {
  expect(withThese([at(0, 8), at(0, 7), at(3, 1)], "0:7.2:5")).toBe("0:9.2:5.3:2")
  expect(withThese([at(1, 4)], null)).toBe("1:5")
})
