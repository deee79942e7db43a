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

test.each([
  [400, "invalid_json", "urn:hookline:error:invalid_json"],
  [503, "deadline", "urn:hookline:error:deadline"],
  [503, "dead_letter_deadline", "urn:hookline:error:dead_letter_deadline"],
  [401, "unverified_no_match", "urn:hookline:error:unauthorized"],
  [401, "of_a_component", "urn:hookline:error:unauthorized"],
  [400, "of_a_component", "about:blank"],
])("the type of %d for %s is %s", async (status, reason, type) => {
  const answer = problem(new Rejected(status, reason, "No."), false, "b1f4-7")
  expect(await answer.json()).toMatchObject({ type })
})
