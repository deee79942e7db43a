import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { renderProviders } from "../../scripts/providers-page.ts"
import { describeAfter } from "../../src/verify/presets/delivery-facts.ts"
import { PRESETS } from "../../src/verify/presets/presets.ts"
import { FACTS, factsOf } from "../../src/verify/presets/sender-facts.ts"

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

test("the runbook names every sender that never sends again after 404", () => {
  const runbook = readFileSync(new URL("../../docs/runbook.md", import.meta.url), "utf8")
  const [, named = ""] = /never sends the event again: (.*)\.$/m.exec(runbook) ?? []
  const losing = Object.keys(FACTS)
    .filter((name) => describeAfter(404, factsOf(name))[0]?.startsWith("does not send it again") === true)
    .map((name) => PRESETS[name]!.title.replace(/ event hooks|^Prometheus | \(.*\)$/, ""))
  expect(named.split(", ").toSorted()).toEqual([...new Set(losing)].toSorted())
})
