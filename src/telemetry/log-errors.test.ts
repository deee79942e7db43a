import { expect, test } from "bun:test"
import { join } from "node:path"

/** The `err` of the line that a log of a process of its own writes of an error, which the script makes. */
function logged(error: string): { [name: string]: unknown } {
  const script = `
    import { openLog } from ${JSON.stringify(join(import.meta.dir, "log.ts"))}
    const { log } = openLog({ level: "info", format: "json" })
    const err = await (async () => { ${error} })().catch((it) => it)
    log.error({ err }, "failed")
    log.info("went on")
  `
  const { stdout } = Bun.spawnSync([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" })
  const [first, second] = stdout.toString().trimEnd().split("\n")
  expect(JSON.parse(second!)).toMatchObject({ msg: "went on" })
  const line = JSON.parse(first!) as { msg: string; err: { [name: string]: unknown } }
  expect(line.msg).toBe("failed")
  return line.err
}

const throwing = "get() { throw new Error('of the property') }"

test.each([
  ["a property throws", `Object.defineProperty(error, "detail", { enumerable: true, ${throwing} })`],
  ["toJSON throws", "error.toJSON = () => { throw new Error('of toJSON') }"],
  ["properties refer to each other", "error.request = { error }"],
  [
    "a property begets errors without end",
    "const next = () => { const it = new Error('x'); Object.defineProperty(it, 'cause', { get: next }); return it }; error.cause = next()",
  ],
  ["a property is a BigInt", "error.offset = 1n"],
  ["the stack throws", `Object.defineProperty(error, "stack", { ${throwing} })`],
])("an error is logged with its message where %s", (_, change) => {
  const err = logged(`const error = new TypeError("the reason"); ${change}; throw error`)
  expect(err["message"]).toStartWith("the reason")
})

test("a module that is not found, whose own toJSON fails, is logged by its message", () => {
  expect(logged('await import("./none-such.ts")')["message"]).toContain("none-such.ts")
})

test.each([
  "null",
  "undefined",
  "'a text'",
  "new Proxy({}, { get(_, name) { if (name !== 'then') throw new Error('closed') } })",
])("a line is written where %s is thrown", (thrown) => {
  logged(`throw ${thrown}`)
})

test("an error without such properties has all of them, and its type and stack", () => {
  const err = logged('throw Object.assign(new TypeError("the reason"), { code: "E_CODE", at: { n: 1 } })')
  expect(err).toMatchObject({ type: "TypeError", message: "the reason", code: "E_CODE", at: { n: 1 } })
  expect(err["stack"]).toStartWith("TypeError: the reason")
})
