import assert from "node:assert/strict"
import { findFlaw } from "../../../src/json/check.ts"
import { isPlainObject } from "../../../src/json/object.ts"
import { toName } from "../../../src/json/name.ts"
import { splice } from "../../../src/json/splice.ts"
import type { Target } from "../target.ts"

const NAMES = [toName("received_at"), toName("source")]
const MEMBERS = Buffer.from('"received_at":"T","source":"webhook"')

/** A JSON object as JavaScript's own parser reads it; undefined: it is none, or not UTF-8. */
function parsed(bytes: Uint8Array): { [name: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
    return isObject ? (value as { [name: string]: unknown }) : undefined
  } catch {
    return undefined
  }
}

/** The check and the splice beside JSON.parse. */
export const json: Target = {
  name: "json",
  seeds: [
    "{}",
    ' {"a":1,"source":{"b":[2,null,true]},"c":-1.5e+3} ',
    '\ufeff{"\\u0073ource":1,"received_at":"x","x":"\\ud83d\\ude00é"}',
    '[{"a":[]}]',
    '"text"',
    "nul",
  ],
  words: [
    '"source":',
    '"received_at":',
    '"\\u0073ource":',
    "\\u",
    "\\ud800",
    "true",
    "[[",
    "}}",
    '{"a":',
    "1e",
    "-0.",
  ],
  check(bytes) {
    const value = parsed(bytes)
    const flaw = findFlaw(bytes)
    assert.equal(flaw === undefined, value !== undefined, `findFlaw says ${JSON.stringify(flaw)}`)
    const isUsual = bytes[0] !== 0xef && depthOf(value) <= 64
    assert.equal(isPlainObject(bytes), value !== undefined && isUsual)
    if (value === undefined) return
    const before = Buffer.from(bytes)
    const spliced = splice(bytes, NAMES, MEMBERS)
    assert.deepEqual(Buffer.from(bytes), before)
    const { received_at: _, source: __, ...others } = value
    const expected = Object.assign(others, { received_at: "T", source: "webhook" })
    const result = parsed(spliced)
    assert.deepEqual(result, expected)
    assert.ok(isWithin(spliced, before), "a byte was changed or moved")
  },
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0
  let inner = 0
  for (const one of Object.values(value)) inner = Math.max(inner, depthOf(one))
  return inner + 1
}

/** Whether what the splice kept, all but the new members and one comma, are bytes of the original in their order. */
function isWithin(spliced: Uint8Array, original: Uint8Array): boolean {
  const at = Buffer.from(spliced).lastIndexOf(MEMBERS)
  const comma = spliced[at - 1] === 0x2c ? 1 : 0
  const kept = Buffer.concat([spliced.subarray(0, at - comma), spliced.subarray(at + MEMBERS.length)])
  let from = 0
  for (const byte of kept) {
    from = original.indexOf(byte, from) + 1
    if (from === 0) return false
  }
  return true
}
