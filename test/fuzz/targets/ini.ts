import assert from "node:assert/strict"
import { readIni, type Ini, type IniEntry } from "../../../src/config/file/ini.ts"
import { atOnce } from "../../../src/clock/slices.ts"
import type { Target } from "../target.ts"

/** The file's grammar: what is read without a complaint, written plainly and read again, is the same. */
export const ini: Target = {
  name: "ini",
  seeds: [
    "[connection:kafka]\nbootstrap_servers = a:1\n",
    "# c\n[pipeline:a:Router]\n  list =\n    one\n\n    two\n    # no\n  other: x = y\r\n",
    "\ufeff[a]\nk = v\n[a]\nk = w\nK: v\n",
    "include = a.conf,\n  b/*.conf\n[x]\ny=z\n",
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
    const read = atOnce(readIni(bytes, tell))
    const lines = Buffer.from(bytes).toString("latin1").split("\n").length
    for (const { line } of told) assert.ok(line === undefined || (line >= 1 && line <= lines), `line ${line}`)
    const isText = !bytes.includes(0) && isUtf8(bytes)
    assert.equal(
      told.some(({ text }) => text.includes("UTF-8")),
      !isText,
      "what is not UTF-8 is told, and nothing else is",
    )
    if (told.length > 0) return
    const again = atOnce(readIni(Buffer.from(write(read)), (_place, text) => assert.fail(text)))
    assert.deepEqual(plain(again), plain(read))
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

const plain = ({ include, sections }: Ini): unknown => [
  include && [include.key, include.lines.map(({ text }) => text)],
  sections.map(({ name, entries }) => [
    name,
    [...entries].map(([key, { key: spelt, lines }]) => [key, spelt, lines.map(({ text }) => text)]),
  ]),
]

const write = ({ include, sections }: Ini): string =>
  (include === undefined ? "" : entry(include)) +
  sections.map(({ name, entries }) => `[${name}]\n${[...entries.values()].map(entry).join("")}`).join("")

const entry = ({ key, lines }: IniEntry): string =>
  `${key} = ${lines.map(({ text }, at) => (at === 0 ? text : `    ${text}`)).join("\n")}\n`
