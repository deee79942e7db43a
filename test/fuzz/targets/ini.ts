import assert from "node:assert/strict"
import { readIni, type IniSection } from "../../../src/config/file/ini.ts"
import { atOnce } from "../../../src/clock.ts"
import type { Target } from "../target.ts"

/** The file's grammar: what is read without a complaint, written plainly and read again, is the same. */
export const ini: Target = {
  name: "ini",
  seeds: [
    "[connection:kafka]\nbootstrap_servers = a:1\n",
    "# c\n[pipeline:a:Router]\n  list =\n    one\n\n    two\n    # no\n  other: x = y\r\n",
    "\ufeff[a]\nk = v\n[a]\nk = w\nK: v\n",
    "[pipeline:a:Router]\nroutes =\nby: x\na:b = c\n  d = e\n\n* = f\n",
    "stray\n[b\n[c] d\nno key\n = 1\n",
  ],
  words: [
    "[",
    "]\n",
    "\n",
    "\r\n",
    " = ",
    ": ",
    "\n    ",
    "\n#",
    "\n;",
    "key",
    "routes",
    "\ufeff",
    "\ufffd",
    "\n\n  ",
  ],
  check(bytes) {
    const told: { line: number | undefined; text: string }[] = []
    const tell: Parameters<typeof readIni>[1] = ({ line }, text) =>
      told.push({ line: line as number | undefined, text })
    const sections = atOnce(readIni(bytes, tell))
    const lines = Buffer.from(bytes).toString("latin1").split("\n").length
    for (const { line } of told) assert.ok(line === undefined || (line >= 1 && line <= lines), `line ${line}`)
    const isText = !bytes.includes(0) && isUtf8(bytes)
    assert.equal(
      told.some(({ text }) => text.includes("UTF-8")),
      !isText,
      "what is not UTF-8 is told, and nothing else is",
    )
    if (told.length > 0) return
    const again = atOnce(readIni(Buffer.from(write(sections)), (_place, text) => assert.fail(text)))
    assert.deepEqual(plain(again), plain(sections))
  },
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

const plain = (sections: readonly IniSection[]): unknown =>
  sections.map(({ name, entries }) => [
    name,
    [...entries].map(([key, { key: spelt, lines }]) => [key, spelt, lines.map(({ text }) => text)]),
  ])

const write = (sections: readonly IniSection[]): string =>
  sections
    .map(({ name, entries }) => {
      const values = [...entries.values()].map(
        ({ key, lines }) =>
          `${key} = ${lines.map(({ text }, at) => (at === 0 ? text : `    ${text}`)).join("\n")}\n`,
      )
      return `[${name}]\n${values.join("")}`
    })
    .join("")
