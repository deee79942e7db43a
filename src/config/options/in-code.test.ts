import { expect, test } from "bun:test"
import { camelCase, messageInCode, sectionInCode } from "./in-code.ts"

test.each([
  ["topic", "topic"],
  ["max_body_bytes", "maxBodyBytes"],
  ["maxAmount", "maxAmount"],
])("%s is %s in code", (key, name) => {
  expect(camelCase(key)).toBe(name)
})

test.each([
  ["admin", "admin"],
  ["pipeline:a", 'pipeline "a"'],
  ["pipeline:web hooks:WebHookSource", 'pipeline "web hooks", webHookSource'],
  ["connection:log:embeddedConnection", 'connection "log", embeddedConnection'],
])("[%s] is %s in code", (address, named) => {
  expect(sectionInCode(address)).toBe(named)
})

test.each([
  ["add tls_key = <a PEM file>", "add tlsKey: <a PEM file>"],
  ["set mode = enforce", 'set mode: "enforce"'],
  ["set protocol = sasl_ssl or sasl_plaintext", 'set protocol: "sasl_ssl" or "sasl_plaintext"'],
  ["set a_b = a, b_c or d", 'set aB: "a", "b_c" or "d"'],
  ["set partitions = 1", "set partitions: 1"],
  ["is more than [service] max_in_flight_bytes", "is more than service.maxInFlightBytes"],
  ['"max_body_bytes = 1" is not a path', '"max_body_bytes = 1" is not a path'],
  [String.raw`"a\"b_c" and b_c`, String.raw`"a\"b_c" and bC`],
  ["is not a list (commas or lines), each item a text", "is not a list, each item a text"],
])("%s becomes %s", (text, message) => {
  expect(messageInCode(text)).toBe(message)
})
