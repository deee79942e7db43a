import { expect, test } from "bun:test"
import { openLog } from "./log.ts"

/** The `err` of the line that is logged of a thrown value. */
function logged(err: unknown): { [name: string]: unknown } {
  const lines: string[] = []
  const { log } = openLog({ level: "info", format: "json", onLine: (line) => lines.push(line) })
  log.error({ err }, "failed")
  log.info("went on")
  const [first, second] = lines
  expect(JSON.parse(second!)).toMatchObject({ msg: "went on" })
  const line = JSON.parse(first!) as { msg: string; err: { [name: string]: unknown } }
  expect(line.msg).toBe("failed")
  return line.err
}

type Changed = TypeError & { request?: object; offset?: bigint; toJSON?: () => void }

const throwing = {
  get(): never {
    throw new Error("of the property")
  },
}
const begetting = (): Error => Object.defineProperty(new Error("x"), "cause", { get: begetting })

test.each<[string, (error: Changed) => unknown]>([
  ["a property throws", (error) => Object.defineProperty(error, "detail", { enumerable: true, ...throwing })],
  ["toJSON throws", (error) => (error.toJSON = throwing.get)],
  ["properties refer to each other", (error) => (error.request = { error })],
  ["a property begets errors without end", (error) => (error.cause = begetting())],
  ["a property is a BigInt", (error) => (error.offset = 1n)],
  ["the stack throws", (error) => Object.defineProperty(error, "stack", throwing)],
])("an error is logged with its message where %s", (_, change) => {
  const error = new TypeError("the reason")
  change(error)
  expect(logged(error)["message"]).toStartWith("the reason")
})

test("a module that is not found, whose own toJSON fails, is logged by its message", async () => {
  const name = "./none-such.ts"
  const error: unknown = await import(name).catch((it: unknown) => it)
  expect(logged(error)["message"]).toContain("none-such.ts")
})

const closed = new Proxy(
  {},
  {
    get(_, name) {
      if (name !== "then") throw new Error("closed")
    },
  },
)

test.each([
  ["null", null],
  ["undefined", undefined],
  ["a text", "a text"],
  ["a proxy that is closed", closed],
])("a line is written where %s is thrown", (_, thrown) => {
  logged(thrown)
})

test("an error without such properties has all of them, and its type and stack", () => {
  const err = logged(Object.assign(new TypeError("the reason"), { code: "E_CODE", at: { n: 1 } }))
  expect(err).toMatchObject({ type: "TypeError", message: "the reason", code: "E_CODE", at: { n: 1 } })
  expect(err["stack"]).toStartWith("TypeError: the reason")
})
