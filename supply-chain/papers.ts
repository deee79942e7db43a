import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { renderNotices } from "./notices.ts"
import { ROOT } from "./packages.ts"
import { renderSbom } from "./sbom.ts"

/** `npm run docs` writes what is installed with Hookline, and under which licences; `npm run check` compares with --check. */
const PAPERS: { readonly [file: string]: () => string } = {
  "sbom.cdx.json": renderSbom,
  "THIRD-PARTY-NOTICES.md": renderNotices,
}

for (const [file, render] of Object.entries(PAPERS)) {
  const path = join(ROOT, file)
  const rendered = render()
  if (!process.argv.includes("--check")) writeFileSync(path, rendered)
  else if (!existsSync(path) || readFileSync(path, "utf8") !== rendered) {
    console.error(`${file} is not what package-lock.json and the installed packages say; run: npm run docs`)
    process.exitCode = 1
  }
}
