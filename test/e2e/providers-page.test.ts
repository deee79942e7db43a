import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { PRESETS } from "../../src/verify/presets/presets.ts"
import { renderProviders } from "../../scripts/providers-page.ts"

const page = readFileSync(new URL("../../docs/providers.md", import.meta.url), "utf8")

test("docs/providers.md is current; if not, run: npm run docs", async () => {
  expect(page).toBe(await renderProviders(page))
})

test("README.md has the number of presets", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8")
  const numbers = [...readme.matchAll(/(\d+) (?:senders are known|providers)/g)].map(([, number]) =>
    Number(number),
  )
  expect(numbers).toEqual([Object.keys(PRESETS).length])
})

test("only undocumented tolerances are marked as ours", async () => {
  const marked = [...(await renderProviders(page)).matchAll(/^\| `([a-z-]+)` .*\d s, \*ours\* \|/gm)].map(
    ([, name]) => name,
  )
  expect(marked).toEqual(["zoom", "grafana", "zendesk", "discord", "gcp-pubsub", "azure-eventgrid"])
})
