import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { PROVIDERS_PAGE, renderProviders } from "./providers-page.ts"

test("docs/providers.md is what the table of presets says; if not, run: bin/bun src/verify/providers-page.ts", () => {
  expect(readFileSync(PROVIDERS_PAGE, "utf8")).toBe(renderProviders())
})
