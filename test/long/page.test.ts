import { describe, expect, test } from "bun:test"
import type { Locator, Page } from "playwright-core"
import type { RecordDetail } from "../../src/admin/api/shapes.ts"
import { accessibilityFindings, hasBrowser, openPage, press, startBrowser } from "../support/browser.ts"
import { sharedByTests, reload, startHookline, temporaryFolder } from "../support/hookline.ts"
import { freePorts } from "../support/ports.ts"
import { postAsStripe } from "../support/stripe-events.ts"

const SECRET = "whsec_fake_for_tests"

/** `billing` has a secret of its own, so that it can be the wrong one. */
const configuration = ({
  port,
  admin,
  billing,
}: {
  port: number
  admin: number
  billing: string
}): string => `
[connection:log]
directory = log
[defaults:WebHookSource]
host = 127.0.0.1
port = ${port}
[pipeline:payments:WebHookSource]
path = /payments
[pipeline:payments:Verifier]
provider = stripe
secret = ${SECRET}
[pipeline:payments:BrokerSink]
topic = payments
[pipeline:billing:WebHookSource]
path = /billing
[pipeline:billing:Verifier]
provider = stripe
secret = ${billing}
[pipeline:billing:BrokerSink]
topic = billing
[pipeline:messages:WebHookSource]
path = /messages
[pipeline:messages:Decoder]
format = auto
[pipeline:messages:BrokerSink]
topic = messages
[admin]
listen = 127.0.0.1:${admin}
`

const event = (n: number, type: string): string =>
  `{"id":"evt_${n}","type":"${type}","amount":12345678901234567890,"data":{"object":{"id":"in_${n}"}}}`

describe.skipIf(!hasBrowser())("the page", () => {
  const browser = sharedByTests(startBrowser)

  test.each(["light", "dark"] as const)(
    "in the %s theme, by keyboard alone: webhooks are seen as they come, opened, replayed, and sent again after a fix",
    async (theme) => {
      using folder = temporaryFolder()
      const [port, admin] = (await freePorts(2)) as [number, number]
      const conf = (billing: string): string => configuration({ port, admin, billing })
      await using running = await startHookline(conf("whsec_of_somebody_else"), { folder: folder.path })
      const { page, faults } = await openPage(browser, running.adminUrl!, { theme })
      const findings: string[] = []
      const look = async (): Promise<void> => void findings.push(...(await accessibilityFindings(page)))
      const url = (pipeline: string): string => running.urls[pipeline]!

      await page.getByRole("heading", { name: "Waiting for the first event" }).waitFor()
      await look()
      expect((await postAsStripe(url("payments"), SECRET, event(0, "invoice.sent"))).status).toBe(200)
      // the overview comes each second: the event may be older than `now` when it is first shown
      await page
        .getByRole("row", { name: /payments/ })
        .locator("time", { hasText: /^(?:now|\d+ \w+)$/ })
        .waitFor()
      await look()

      // good
      await press(page, "g", "e")
      await row(page, 0).waitFor()
      expect((await postAsStripe(url("payments"), SECRET, event(1, "invoice.paid"))).status).toBe(200)
      await row(page, 1).locator(".record-type", { hasText: "invoice.paid" }).waitFor()
      await press(page, "/", "text:/type = invoice.paid", "Enter")
      await row(page, 0).waitFor({ state: "detached" })
      await row(page, 1).waitFor()
      await press(page, "j", "Enter")
      await page.locator(".json").getByText("12345678901234567890").waitFor()
      await look()

      // a form
      await press(page, "Control+k", "text:topic messages")
      await page.locator(".palette-item", { hasText: "Topic of log" }).first().waitFor()
      await press(page, "Enter")
      await page.waitForURL((it) => it.hash === "#/events/log/messages")
      await page.getByText("No event yet").waitFor()
      const form = new URLSearchParams({ From: "+15005550001", Body: "Hello there" })
      expect((await fetch(url("messages"), { method: "POST", body: form })).status).toBe(200)
      await row(page, 0).waitFor()
      await press(page, "j", "Enter")
      await page.locator(".json").getByText("Hello there").waitFor()

      // unsigned, and signed with a secret that the file does not have
      await press(page, "g", "r")
      await page.getByText("No refused request").waitFor()
      await look()
      const unsigned = await fetch(url("payments"), { method: "POST", body: event(2, "invoice.paid") })
      expect(unsigned.status).toBe(401)
      await capture(page, "payments").waitFor()
      expect((await postAsStripe(url("billing"), SECRET, event(3, "invoice.paid"))).status).toBe(401)
      // on top of the list, and opened as the first row
      await page.locator(".group-head", { hasText: "billing" }).waitFor()
      await look()
      await press(page, "j", "Enter")
      await capture(page, "billing").waitFor()
      await press(page, "j", "Enter")
      await page.getByRole("tab", { name: "Explanation" }).waitFor()
      await page.getByText("Likely causes").waitFor()
      await look()

      // fixed, and sent again
      expect(await reload(running, folder.path, conf(SECRET))).toBe("reloaded")
      await press(page, "r")
      await page.getByText("Answered 200").waitFor()
      await look()
      await tabTo(page, ".resend .record-link")
      await press(page, "Enter")
      await page.waitForURL((it) => it.hash === "#/events/log/billing/0/0")
      await page.locator(".json").getByText('"evt_3"').waitFor()

      // replayed
      await press(page, "r")
      await page.waitForURL((it) => it.hash.startsWith("#/replay?"))
      await tabTo(page, "[name=to_topic]")
      await press(page, "text:messages")
      await look()
      await press(page, "Enter")
      await page.getByRole("dialog").getByText("1 record", { exact: true }).waitFor()
      await look()
      await press(page, "Enter")
      await page.getByText("done", { exact: true }).waitFor()
      await look()
      expect(await value(running.adminUrl!, "messages", 1)).toBe(await value(running.adminUrl!, "billing", 0))

      // a sample
      await press(page, "g", "s")
      await page.getByRole("button", { name: "Send Ctrl ↵" }).waitFor()
      await look()
      await press(page, "Control+Enter")
      await page.getByText("Answered 200").waitFor()
      await look()

      // everything that opens over a view
      await press(page, "?")
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor()
      await look()
      // the close event of a dialog may come after another one was opened
      await page.evaluate(
        `document.querySelector("dialog").close()
         document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true }))`,
      )
      await page.getByRole("dialog", { name: "Find" }).waitFor()
      await look()
      await press(page, "text:pipeline billing", "Enter")
      await page.getByRole("region", { name: "Pipeline billing" }).locator("canvas").first().waitFor()
      await look()

      expect(findings).toEqual([])
      expect(faults).toEqual([])
    },
  )

  test("a key is for what the key before it opened, also before the browser has painted that", async () => {
    using folder = temporaryFolder()
    const conf = configuration({ port: 0, admin: 0, billing: SECRET })
    await using running = await startHookline(conf, { folder: folder.path })
    const { page, faults } = await openPage(browser, running.adminUrl!)
    await page.getByRole("heading", { name: "Waiting for the first event" }).waitFor()
    const labelOfFocused = (...keys: readonly object[]): Promise<string> =>
      page.evaluate(`(async () => {
        for (const key of ${JSON.stringify(keys)}) {
          document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, ...key }))
          await undefined
        }
        return document.activeElement.ariaLabel
      })()`)
    expect(await labelOfFocused({ key: "g" }, { key: "e" }, { key: "/" })).toBe("Filter")
    await page.evaluate("document.activeElement.blur()")
    expect(await labelOfFocused({ key: "k", ctrlKey: true })).toBe("Find pipelines, topics and commands")
    expect(faults).toEqual([])
  })

  test("the whole page, with what views load later, is under 150 KB, and so is what is sent of it", async () => {
    using folder = temporaryFolder()
    const [port, admin] = (await freePorts(2)) as [number, number]
    const conf = configuration({ port, admin, billing: SECRET })
    await using running = await startHookline(conf, { folder: folder.path })
    await postAsStripe(running.urls["payments"]!, SECRET, event(0, "invoice.paid"))
    const { page, faults, requests } = await openPage(browser, `${running.adminUrl}/#/overview/payments`)
    await page.locator("canvas").first().waitFor()
    for (const key of ["e", "r", "s", "p"]) await press(page, "g", key)
    const files = requests.filter((request) => !request.url().includes("/api/"))
    expect(new Set(files.map((it) => new URL(it.url()).pathname.split(".").at(-1)))).toEqual(
      new Set(["/", "css", "js", "svg"]),
    )
    let total = 0
    for (const file of files) {
      const { responseBodySize, responseHeadersSize } = await file.sizes()
      total += responseBodySize + responseHeadersSize
    }
    expect(total).toBeGreaterThan(20_000)
    expect(total).toBeLessThan(150_000)
    expect(faults).toEqual([])
  })
})

const row = (page: Page, offset: number): Locator => page.locator(`.record[data-place="0:${offset}"]`)

const capture = (page: Page, pipeline: string): Locator =>
  page
    .getByRole("list", { name: "Requests" })
    .getByRole("link")
    .filter({ hasText: `/${pipeline}` })

/** Goes on with the Tab key until an element has the focus, as it must be reachable. */
async function tabTo(page: Page, selector: string): Promise<void> {
  await page.locator(selector).waitFor()
  for (let tabs = 0; tabs < 100; tabs++) {
    if (await page.evaluate<boolean>(`document.activeElement.matches(${JSON.stringify(selector)})`)) return
    await press(page, "Tab")
  }
  throw new Error(`the Tab key does not lead to ${selector}`)
}

async function value(adminUrl: string, topic: string, offset: number): Promise<string> {
  const response = await fetch(`${adminUrl}/api/records/log/${topic}/0/${offset}`)
  return ((await response.json()) as RecordDetail).value_base64
}
