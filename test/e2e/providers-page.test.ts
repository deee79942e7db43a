import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { renderProviders } from "../../scripts/providers-page.ts"

const page = readFileSync(new URL("../../docs/providers.md", import.meta.url), "utf8")

test("docs/providers.md is current; if not, run: npm run docs", async () => {
  expect(page).toBe(await renderProviders(page))
})

test("only undocumented tolerances are marked as ours", async () => {
  const marked = [
    ...(await renderProviders(page)).matchAll(/^\| `([a-z-]+)` .*\d (?:s|h), \*ours\* \|/gm),
  ].map(([, name]) => name)
  expect(marked).toEqual([
    "sanity",
    "zoom",
    "grafana",
    "zendesk",
    "klaviyo",
    "customer-io",
    "persona",
    "revenuecat",
    "airwallex",
    "buildkite",
    "tiktok",
    "mailgun",
    "discord",
    "paypal",
    "gcp-pubsub",
    "azure-eventgrid",
    "monday",
  ])
})
