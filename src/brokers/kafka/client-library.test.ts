import { expect, test } from "bun:test"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Admin } from "./client-library.ts"

test("options that the library does not take are named, though their validator was compiled by this call", () => {
  const options = { clientId: 3 as unknown as string, bootstrapBrokers: ["127.0.0.1:1"], strict: true }
  expect(() => new Admin(options)).toThrow("/options/clientId must be string")
  expect(() => new Admin({ ...options, clientId: "test" })).not.toThrow()
})

test("a schema that is compiled once the library is loaded is compiled at once", () => {
  expect(() => new Ajv2020({ strict: true }).compile({ type: "nothing" })).toThrow("schema is invalid")
})
