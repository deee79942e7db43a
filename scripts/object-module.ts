/** Assembles src/json/object.wat into src/json/object-module.ts. With `--check`: whether that is current. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import openWabt from "wabt"

const folder = join(import.meta.dir, "../src/json")
const source = join(folder, "object.wat")
const target = join(folder, "object-module.ts")

const wabt = await openWabt()
const assembled = wabt.parseWat(source, readFileSync(source, "utf8"), { simd: true })
const base64 = Buffer.from(assembled.toBinary({}).buffer).toString("base64")
const text = `// Made from object.wat by \`npm run docs\`.
export const OBJECT_MODULE =
  "${base64}"
`

if (!process.argv.includes("--check")) writeFileSync(target, text)
else if (readFileSync(target, "utf8") !== text) {
  console.error("src/json/object-module.ts is not what src/json/object.wat says; run npm run docs")
  process.exitCode = 1
}
