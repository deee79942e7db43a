/**
 * Takes the pictures of docs/admin-page.md: a service with some pipelines, events of a shop, and Chromium.
 *
 * Run it with `npm run docs:screenshots`; `-- 900` fills the chart of 15 minutes, `-- 5 FOLDER` leaves them in another folder
 * than docs, as `npm run site -- --pictures` does.
 */
import { join } from "node:path"
import { openPage, press, startBrowser, type OpenedPage } from "../test/support/browser.ts"
import { startHookline, temporaryFolder } from "../test/support/hookline.ts"
import { freePorts } from "../test/support/ports.ts"
import { postAsStripe } from "../test/support/stripe-events.ts"

const [seconds = "45", pictures = join(import.meta.dir, "../docs")] = process.argv.slice(2)
const SECRET = "whsec_example"
const PIPELINES = ["payments", "subscriptions", "disputes", "payouts"]
const TYPES = [
  "invoice.paid",
  "invoice.finalized",
  "charge.succeeded",
  "customer.subscription.updated",
  "charge.failed",
  "payment_intent.succeeded",
]

using folder = temporaryFolder()
const [port, admin] = await freePorts(2)
const sections = PIPELINES.map(
  (id) => `
[pipeline:${id}:WebHookSource]
path = /${id}
[pipeline:${id}:Verifier]
provider = stripe
secret = ${id === "disputes" ? "whsec_of_another_endpoint" : SECRET}
[pipeline:${id}:BrokerSink]
topic = ${id}
`,
)
await using running = await startHookline(
  `[connection:log]\ndirectory = log\n[defaults:WebHookSource]\nhost = 127.0.0.1\nport = ${port}\n${sections.join("")}[admin]\nlisten = 127.0.0.1:${admin}\n`,
  { folder: folder.path },
)

const body = (n: number): string =>
  JSON.stringify({
    id: `evt_1QhX${(9_000_000 + n * 7919).toString(36)}`,
    object: "event",
    api_version: "2026-10-29",
    type: TYPES[n % TYPES.length],
    livemode: true,
    data: {
      object: {
        id: `in_1QhX${(5_000_000 + n * 104_729).toString(36)}`,
        amount_due: 1900 + ((n * 3700) % 98_000),
        currency: "eur",
        customer: `cus_R${(70_000 + n * 331).toString(36)}`,
        lines: [
          { price: "price_base", quantity: 1 },
          { price: "price_seat", quantity: 3 + (n % 5) },
        ],
        status: n % TYPES.length === 4 ? "open" : "paid",
        tax: null,
      },
    },
  })

/** Events for so long, at rates of their own, so that the overview has something to draw. */
async function shop(seconds: number): Promise<void> {
  for (let n = 0; n < seconds * 10; n++) {
    for (const [at, id] of PIPELINES.entries())
      if (id === "disputes" ? n % 12 === 7 && n % 900 < 400 : n % (at + 1) === 0)
        await postAsStripe(running.urls[id]!, SECRET, body(n))
    await Bun.sleep(100 + 60 * Math.sin(n / 120))
  }
}

async function take(theme: "light" | "dark"): Promise<void> {
  const { page, faults } = await openPage(browser, running.adminUrl!, { theme, width: 1200, height: 640 })
  const save = async (page: OpenedPage["page"], name: string): Promise<void> => {
    await page.screenshot({ path: join(pictures, `page-${name}-${theme}.png`) })
  }
  await page.getByRole("row", { name: /payments/ }).waitFor()
  await page.locator("canvas").waitFor()
  await save(page, "overview")
  await press(page, "g", "e", ".")
  await page.locator(".record[data-place]").first().waitFor()
  await press(page, "j", "j", "j", "Enter")
  await page.locator(".json").waitFor()
  await save(page, "events")
  await press(page, "g", "r")
  await page.locator("a.capture").first().waitFor()
  await press(page, "j", "j", "Enter")
  await page.locator(".explanation").waitFor()
  await save(page, "refused")
  if (faults.length > 0) throw new Error(faults.join("\n"))
  await page.context().close()
}

await postAsStripe(running.urls["payouts"]!, SECRET, `${body(0).slice(0, -1)},}`)
for (let n = 0; n < 3; n++) await fetch(running.urls["payments"]!, { method: "POST", body: body(n) })
await shop(Number(seconds))
await using browser = await startBrowser()
await take("light")
await take("dark")
