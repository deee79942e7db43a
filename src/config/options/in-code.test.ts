import { expect, test } from "bun:test"
import { sectionInCode } from "./in-code.ts"

test.each([
  ["admin", "admin"],
  ["pipeline:a", 'pipeline "a"'],
  ["pipeline:web hooks:WebHookSource", 'pipeline "web hooks", webHookSource'],
  ["connection:log:embeddedConnection", 'connection "log", embeddedConnection'],
])("[%s] is %s in code", (address, named) => {
  expect(sectionInCode(address)).toBe(named)
})
