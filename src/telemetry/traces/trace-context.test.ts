import { expect, test } from "bun:test"
import { traceContextOf } from "./trace-context.ts"

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
const stateOf = (tracestate: string): string | undefined =>
  traceContextOf(new Headers({ traceparent: PARENT, tracestate }))?.tracestate

test.each(["a=1", "a=1,b=2", "a=1 ,\tb=2", "a=1,,b=2", "tenant@vendor=x y"])(
  "the state %p is passed",
  (state) => {
    expect(stateOf(state)).toBe(state)
  },
)

test.each([
  "a",
  "a=1,a=2",
  "a=\u00e9",
  "a=1,\u00a0b=2",
  "A=1",
  ",",
  Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(),
])("the state %p is left out", (state) => {
  expect(stateOf(state)).toBeUndefined()
})

test("a state of nothing but spaces between two letters is evaluated in time of its length", () => {
  expect(stateOf(`a=b${" ".repeat(1_000_000)}c`)).toBeUndefined()
})

test("a parent of a later version is passed, unless it is as long as none needs to be", () => {
  const of = (more: string): string | undefined =>
    traceContextOf(new Headers({ traceparent: `cc${PARENT.slice(2)}${more}` }))?.traceparent
  expect(of("-what-comes")).toEndWith("-01-what-comes")
  expect(of(`-${"x".repeat(500)}`)).toBeUndefined()
})
