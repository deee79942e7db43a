import { expect, test } from "bun:test"
import { headerBytes, headerText, toHeaderValue } from "./headers.ts"

/** A value of bytes, as Headers has it. */
const valueOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")

test("each byte that a header can have is the same byte again", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i).filter((it) => it >= 0x20 && it !== 0x7f)
  const received = new Headers({ "x-all": `a${valueOf(bytes)}z` }).get("x-all")!
  expect(Buffer.from(headerBytes(received)).toString("latin1")).toBe(`a${valueOf(bytes)}z`)
})

test("a value that was decoded as UTF-8 is encoded in UTF-8, and no character becomes another", () => {
  expect(Buffer.from(headerBytes("Café Ł")).toString()).toBe("Café Ł")
  expect(headerBytes("Ł")).not.toEqual(headerBytes("A"))
})

test.each([
  ["ASCII", Buffer.from("plain"), "plain"],
  ["UTF-8", Buffer.from("Café ☕"), "Café ☕"],
  ["Latin-1", Buffer.from("Caf\xe9", "latin1"), "Café"],
])("%s is read", (_what, bytes, text) => {
  expect(headerText(valueOf(bytes))).toBe(text)
})

test.each(["plain", "Café ☕", "CafÃ©"])(
  "the text %p is a value in UTF-8, and is read as that text",
  (text) => {
    const value = new Headers({ "x-text": toHeaderValue(text) }).get("x-text")!
    expect(Buffer.from(headerBytes(value)).toString()).toBe(text)
    expect(headerText(value)).toBe(text)
  },
)
