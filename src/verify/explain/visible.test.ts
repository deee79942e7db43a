import { expect, test } from "bun:test"
import { legend, visible } from "./visible.ts"

const show = (text: string): string => visible(Buffer.from(text))

test.each([
  ["plain text as it is", '{ "a": 1 }', '{ "a": 1 }'],
  ["UTF-8 as it is", "héllo 😀 語", "héllo 😀 語"],
  ["newlines, with their break", "a\nb\n", "a␊\nb␊\n"],
  ["carriage returns", "a\r\nb", "a␍␊\nb"],
  ["tabs", "\ta", "␉a"],
  ["a byte-order mark", "\uFEFF{}", "⟨BOM⟩{}"],
  ["spaces at a line's end and at the end", "a b  \nc ", "a b··␊\nc·"],
  ["blanks that are no spaces", "a\u00a0b\u200bc", "a⟨U+00A0⟩b⟨U+200B⟩c"],
  ["controls", "\u0000\u001b[31m", "⟨U+0000⟩⟨U+001B⟩[31m"],
  ["a replacement character", "\uFFFD", "\uFFFD"],
])("shows %s", (_, text, shown) => {
  expect(show(text)).toBe(shown)
})

test("invalid UTF-8 is shown byte by byte", () => {
  expect(visible(Buffer.from([0x61, 0xe9, 0xc3, 0xa9, 0xf0, 0x9f]))).toBe("a⟨0xE9⟩é⟨0xF0⟩⟨0x9F⟩")
})

test("a long run of spaces is shown in time of its length", () => {
  const text = `a${" ".repeat(1_000_000)}b`
  expect(show(text)).toBe(text)
})

test("the legend has the signs of the text", () => {
  expect(legend(show("a\r\n"))).toBe("␊ newline, ␍ carriage return")
  expect(legend(show("plain"))).toBe("")
})
