import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { components } from "../components/registry.ts"
import { renderReference } from "../config/reference.ts"

/** `npm run docs` writes docs/reference.md from the declarations; with --check (in `npm run check`) it only compares. */
const path = fileURLToPath(new URL("../../docs/reference.md", import.meta.url))
const rendered = renderReference(components)

if (!process.argv.includes("--check")) {
  writeFileSync(path, rendered)
} else if (!existsSync(path) || readFileSync(path, "utf8") !== rendered) {
  console.error("docs/reference.md is not what the declarations say; run: npm run docs")
  process.exitCode = 1
}
