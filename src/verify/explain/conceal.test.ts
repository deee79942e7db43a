import { expect, test } from "bun:test"
import { concealer } from "./conceal.ts"

test.each([
  [{ secret: ["abc"] }, "abc and xabcx", "[secret] and x[secret]x"],
  [{ secret: ["s"] }, "sha256", "[secret]ha256"],
  [{ secret: ["a.c"] }, "abc a.c", "abc [secret]"],
  [{ secret: ["long", "longer"] }, "longer long", "[secret] [secret]"],
  [{ secret: [" padded "] }, "padded", "[secret]"],
  [{ secret: ["a b"] }, "?token=a%20b", "?token=[secret]"],
  [{ username: "u", password: ["p4ss"] }, `Basic ${btoa("u:p4ss")}`, "Basic [secret]"],
  [{}, "nothing to conceal", "nothing to conceal"],
])("%p in %p", (settings, text, shown) => {
  expect(concealer(settings)(text)).toBe(shown)
})
