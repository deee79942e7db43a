import { expect, test } from "bun:test"
import { findFlaw } from "./check.ts"
import { isPlainObject } from "./object.ts"

const MIB = 1024 * 1024

test.each([
  "{}",
  ' \t\r\n{ "a" : [ ] , "b" : { } } \n',
  '{"a":1,"a":2}',
  '{"a":[0,-0,1.5,-1E+5,1e-5,1e400,12345678901234567890,0.0e0]}',
  '{"a":[true,false,null,true],"b":null}',
  '{"a":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD800","\\u0061":"\\\\"}',
  '{"a":"\u2028\u007f\u{1f600}ÿ"}',
  '{"":"","sixteen letters.":"another sixteen!","and seventeen let":""}',
  `${'{"a":['.repeat(32)}1${"]}".repeat(32)}`,
])("%j is an object", (text) => {
  expect(isPlainObject(Buffer.from(text))).toBe(true)
})

test("what is not one is refused, wherever it goes wrong", () => {
  const whole = '{"a":[-10.25e+3,"\\u00e9\\n 16 bytes of a string",true,{"b":false},null,[]],"c":{"d":0}}'
  expect(isPlainObject(Buffer.from(whole))).toBe(true)
  for (let length = 0; length < whole.length; length++)
    expect(isPlainObject(Buffer.from(whole.slice(0, length)))).toBe(false)
  for (let at = 0; at < whole.length; at++) {
    for (const byte of [
      0, 0x1f, 0x20, 0x22, 0x2c, 0x2d, 0x2e, 0x30, 0x3a, 0x5b, 0x5c, 0x5d, 0x65, 0x7b, 0x7d, 0xff,
    ]) {
      const changed = Buffer.from(whole)
      changed[at] = byte
      expect(isPlainObject(changed)).toBe(findFlaw(changed) === undefined)
    }
  }
})

test("letters of an escape are those of RFC 8259, and no others", () => {
  for (let byte = 0; byte < 128; byte++) {
    const body = Buffer.concat([Buffer.from('{"a":"\\'), Buffer.from([byte]), Buffer.from('0000"}')])
    expect(isPlainObject(body)).toBe(findFlaw(body) === undefined)
  }
})

test("every length of a string is read to its end, and not beyond", () => {
  for (let length = 0; length < 70; length++) {
    const value = "x".repeat(length)
    expect(isPlainObject(Buffer.from(`{"a":"${value}"}`))).toBe(true)
    expect(isPlainObject(Buffer.from(`{"a":"${value}`))).toBe(false)
    for (const bad of ["\u001f", "\n", "\u0000"])
      expect(isPlainObject(Buffer.from(`{"a":"${value}${bad}"}`))).toBe(false)
  }
})

test("nothing of an earlier body is read", () => {
  expect(isPlainObject(Buffer.from('{"a":"long enough to be in the way","b":[1,2,3]}'))).toBe(true)
  for (const text of ['{"a":"long', '{"a":"long enough to be in the way","b":[1', "{", '{"a":tr', '{"a":1.'])
    expect(isPlainObject(Buffer.from(text))).toBe(false)
})

test("unusual ones are left to findFlaw: byte-order marks, 65 levels, more than 1 MiB", () => {
  const deep = (levels: number): Buffer => Buffer.from(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`)
  const large = (bytes: number): Buffer => Buffer.from(`{"a":"${"x".repeat(bytes - 8)}"}`)
  for (const body of [Buffer.from("\ufeff{}"), deep(65), large(2 * MIB)]) {
    expect(isPlainObject(body)).toBe(false)
    expect(findFlaw(body)).toBeUndefined()
  }
  for (const body of [deep(64), large(MIB)]) expect(isPlainObject(body)).toBe(true)
})
