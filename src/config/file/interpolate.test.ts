import { beforeAll, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { interpolate } from "./interpolate.ts"
import { folderOfTests } from "../../../test/support/hookline.ts"

const folder = folderOfTests()
const env = { A: "one", EMPTY: "", NESTED: "${A}", MANY: "x\ny = 2" }

beforeAll(() => {
  writeFileSync(join(folder.path, "line"), "from a file\n")
  writeFileSync(join(folder.path, "crlf"), "from a file\r\n")
  writeFileSync(join(folder.path, "lines"), "${A}\n\n")
  writeFileSync(join(folder.path, "latin1"), new Uint8Array([0xe9]))
})

function read(text: string): {
  text: string | undefined
  substituted?: boolean
  fileCommas?: readonly number[]
  problems: string[]
} {
  const problems: string[] = []
  const result = interpolate(text, { env, baseDir: folder.path }, (problem) => problems.push(problem))
  return { text: undefined, ...result, problems }
}

test.each([
  ["plain", "plain", false],
  ["$A $ {A} $$ pa$$word", "$A $ {A} $$ pa$$word", false],
  ["${A}", "one", true],
  ["<${A}|${A}>", "<one|one>", true],
  ["${EMPTY}", "", true],
  ["${EMPTY:-two}", "two", true],
  ["${UNSET:-two}", "two", true],
  ["${UNSET:-}", "", true],
  ["${UNSET:-a:-b}", "a:-b", true],
  ["${A:-two}", "one", true],
  ["${NESTED}", "${A}", true],
  ["${MANY}", "x\ny = 2", true],
  ["$${A}", "${A}", false],
  ["$${A} ${A} $${", "${A} one ${", true],
  ["${file:line}!", "from a file!", true],
  ["${file:crlf}", "from a file", true],
  ["${file:lines}", "${A}\n", true],
])("%p becomes %p", (text, expected, substituted) => {
  expect(read(text)).toEqual({ text: expected, substituted, fileCommas: [], problems: [] })
})

test("the commas that files gave are known by their places", () => {
  writeFileSync(join(folder.path, "commas"), "a,b\n,c\n")
  expect(read("${A},$${x},${file:commas},${file:line},${file:commas}")).toMatchObject({
    text: "one,${x},a,b\n,c,from a file,a,b\n,c",
    fileCommas: [10, 13, 29, 32],
  })
})

test("a file's path may be absolute", () => {
  expect(read(`\${file:${join(folder.path, "line")}}`).text).toBe("from a file")
})

test.each([
  ["${UNSET}", "environment variable UNSET is not set; set it, or give a default: ${UNSET:-default}"],
  [
    "${constructor}",
    "environment variable constructor is not set; set it, or give a default: ${constructor:-default}",
  ],
  ["x${A", "unterminated ${; write $${ for a literal ${"],
  [
    "${}",
    "invalid reference; expected ${NAME}, ${NAME:-default} or ${file:/path}; write $${ for a literal ${",
  ],
  [
    "${passwords:kafka}",
    "invalid reference; expected ${NAME}, ${NAME:-default} or ${file:/path}; write $${ for a literal ${",
  ],
  ["${A:-${B}}", "the default of ${A} can't contain another ${"],
  ["${file:}", "${file:} has no path; write ${file:/run/secrets/name}"],
  ["${file:none}", "the file none does not exist"],
  ["${file:.}", "the file . is a folder"],
  ["${file:latin1}", "the file latin1 is not UTF-8"],
])("%p is a problem", (text, problem) => {
  expect(read(text)).toEqual({ text: undefined, problems: [problem] })
})

test("every wrong reference of a line is reported", () => {
  expect(read("${B} ${A} ${C}").problems).toHaveLength(2)
})
