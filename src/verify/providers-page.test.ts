import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { PROVIDERS_PAGE, renderProviders } from "./providers-page.ts"

test("docs/providers.md is what the table of presets says; if not, run: npm run docs", () => {
  expect(readFileSync(PROVIDERS_PAGE, "utf8")).toBe(renderProviders())
})

test("a tolerance that the provider does not name is marked as ours, others are not", () => {
  const marked = [...renderProviders().matchAll(/^\| `([a-z-]+)` .*\d s, \*ours\* \|/gm)].map(
    ([, name]) => name,
  )
  expect(marked).toEqual(["zoom", "grafana", "zendesk", "discord", "gcp-pubsub", "azure-eventgrid"])
})
