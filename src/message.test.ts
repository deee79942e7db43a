import { expect, test } from "bun:test"
import {
  blank,
  camelCase,
  message,
  messageInCode,
  messageInFile,
  named,
  namedBy,
  ofFile,
  ofSection,
  setting,
  type Message,
} from "./message.ts"

test.each([
  ["topic", "topic"],
  ["max_body_bytes", "maxBodyBytes"],
  ["maxAmount", "maxAmount"],
])("%s is %s in code", (key, name) => {
  expect(camelCase(key)).toBe(name)
})

const reusePort = setting("reuse_port", "on")

test.each<[inFile: string, inCode: string, message: Message]>([
  ["is not a path", "is not a path", "is not a path"],
  ["add tls_key = <a path>", "add tlsKey: <a path>", message`add ${blank("tls_key", "a path")}`],
  ["set mode = enforce", 'set mode: "enforce"', message`set ${setting("mode", "enforce")}`],
  ["set a_b = a", 'set aB: "a"', message`set ${setting("a_b", ["a"])}`],
  ["set a_b = a, b_c or d", 'set aB: "a", "b_c" or "d"', message`set ${setting("a_b", ["a", "b_c", "d"])}`],
  ["set partitions = 1", "set partitions: 1", message`set ${setting("partitions", 1)}`],
  ["set by = json:/type", 'set by: "json:/type"', message`set ${setting("by", "json:/type")}`],
  ["[service] reuse_port = on", 'service.reusePort: "on"', ofSection("service", reusePort)],
  ["[service] redis_ca", "service.redisCa", ofSection("service", named("redis_ca"))],
  ["a_b, c", "aB, c", namedBy((names) => names.join(", "), ["a_b", "c"])],
  ["a list (commas or lines) of it", "a list of it", message`a list${ofFile(" (commas or lines)")} of it`],
  ["/a_b is 2 of tls_key", "/a_b is 2 of tlsKey", message`${"/a_b"} is ${2} of ${named("tls_key")}`],
])("%s", (inFile, inCode, text) => {
  expect([messageInFile(text), messageInCode(text)]).toEqual([inFile, inCode])
})
