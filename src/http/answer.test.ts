import { expect, test } from "bun:test"
import { Rejected } from "../pipeline/outcome.ts"
import { problem } from "./answer.ts"

test.each([
  [410, "Gone"],
  [413, "Content Too Large"],
  [422, "Unprocessable Content"],
  [499, "Client Error"],
  [599, "Server Error"],
])("the title of status %d is %s", async (status, title) => {
  expect(await problem(new Rejected(status, "coffee", "No coffee."), true, "b1f4-7").json()).toEqual({
    type: "about:blank",
    title,
    status,
    detail: "No coffee.",
    request_id: "b1f4-7",
  })
})
