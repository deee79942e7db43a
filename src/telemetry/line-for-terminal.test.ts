import { expect, test } from "bun:test"
import { lineForTerminal } from "./line-for-terminal.ts"

const STACK = "TypeError: no such thing\n    at open (a.ts:1)"
const error = { type: "TypeError", message: "no such thing", stack: STACK }

test.each([
  ["no fields", { level: "info", msg: "started" }, "INFO: started"],
  [
    "fields",
    { level: "warn", partition: 1, msg: "slow", of: { a: [1] } },
    'WARN: slow {"partition":1,"of":{"a":[1]}}',
  ],
  ["no message", { level: "debug", a: 1 }, 'DEBUG:  {"a":1}'],
  [
    "an error",
    { level: "error", err: error, msg: "failed" },
    `ERROR: failed\n    ${STACK.replace("\n", "\n    ")}`,
  ],
  [
    "an error with a code, whose message was changed",
    { level: "fatal", err: { ...error, message: "changed", code: "E" }, pipeline: "p", msg: "failed" },
    `FATAL: failed {"pipeline":"p","err":{"message":"changed","code":"E"}}\n    ${STACK.replace("\n", "\n    ")}`,
  ],
  [
    "an error without a stack",
    { level: "error", err: { message: "m" }, msg: "f" },
    'ERROR: f {"err":{"message":"m"}}',
  ],
  [
    "characters of a terminal",
    { level: "info", "k\u009b": "\u001b[2J\u202e", msg: "a\nb" },
    'INFO: a\\u000ab {"k\\u009b":"\\u001b[2J\\u202e"}',
  ],
])("a line with %s", (_, fields, text) => {
  const line = `${JSON.stringify({ ...fields, time: "2026-11-21T14:03:07.023Z" })}\n`
  const written = lineForTerminal(false)(line)
  expect(written).toMatch(/^\[\d\d:\d\d:07\.023\] /)
  expect(written.slice("[14:03:07.023] ".length)).toBe(`${text}\n`)
  expect(Bun.stripANSI(lineForTerminal(true)(line))).toBe(written)
})
