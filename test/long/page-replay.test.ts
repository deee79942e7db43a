import { beforeAll, describe, expect, test } from "bun:test"
import type { Page } from "playwright-core"
import { accessibilityFindings, hasBrowser, openPage, press, startBrowser } from "../support/browser.ts"
import { joinWithKcat, kafkaAddressOf, readableLog } from "../support/kafka-clients.ts"
import { hasKcat } from "../support/kcat.ts"
import { sharedByTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { Receiver } from "../support/receiver.ts"
import { overflowPx } from "../support/page.ts"

const CONFIGURATION = `
[connection:log]
directory = log
[connection:kafka]
bootstrap_servers = 127.0.0.1:1
[pipeline:payments:WebHookSource]
path = /payments
[pipeline:payments:Decoder]
lists = split
[pipeline:payments:BrokerSink]
connection = log
topic = payments
[pipeline:down:WebHookSource]
path = /down
[pipeline:down:BrokerSink]
connection = kafka
topic = down
[admin]
listen = 127.0.0.1:0
replay_urls = *
`
const COUNT = 40

const job = (page: Page, name: string | RegExp) => page.getByRole("article", { name })
const started = async (page: Page): Promise<void> => {
  const dialog = page.getByRole("dialog", { name: "Replay" })
  await dialog.getByRole("button", { name: "Start the replay" }).click()
  await dialog.waitFor({ state: "detached" })
}

test.skipIf(!hasBrowser() || !hasKcat())(
  "consumer groups are among the deliveries with their lag, in both themes and three widths",
  async () => {
    using folder = temporaryFolder()
    await using running = await startHookline(readableLog(), { folder: folder.path })
    await using browser = await startBrowser()
    const post = () => fetch(running.urls["webhooks"]!, { method: "POST", body: '{"id":"1"}' })
    await post()
    await using reader = joinWithKcat(await kafkaAddressOf(running), "billing", "webhooks")
    await reader.said(/key/)
    await reader.end("SIGTERM")
    await post()
    for (const theme of ["light", "dark"] as const)
      for (const width of [1440, 768, 390]) {
        const { page, faults } = await openPage(browser, `${running.adminUrl}/#/replay`, { theme, width })
        await page.getByRole("cell", { name: "billing" }).waitFor()
        await page.getByRole("cell", { name: "0: 1 of 2" }).waitFor()
        await page.getByRole("cell", { name: "Empty" }).waitFor()
        expect(await overflowPx(page)).toBe(0)
        expect(await accessibilityFindings(page)).toEqual([])
        expect(faults).toEqual([])
        await page.context().close()
      }
  },
)

test.skipIf(!hasBrowser())(
  "a forward is paused and resumed by its button among the deliveries, and the overview counts what waits",
  async () => {
    using folder = temporaryFolder()
    await using receiver = new Receiver()
    const text = `${CONFIGURATION}[forward:shop]\nfrom = log/payments\nurl = ${receiver.url}\n`
    await using running = await startHookline(text, { folder: folder.path })
    await using browser = await startBrowser()
    const { page, faults } = await openPage(browser, `${running.adminUrl}/#/replay`)
    const post = () => fetch(running.urls["payments"]!, { method: "POST", body: "{}" })
    await post()
    await receiver.count(1)
    await page.getByRole("button", { name: "Pause shop" }).click()
    await page.getByRole("cell", { name: "paused", exact: true }).waitFor()
    await post()
    await page.getByRole("cell", { name: "1", exact: true }).first().waitFor()
    expect(await accessibilityFindings(page)).toEqual([])
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await overflowPx(page)).toBe(0)
    expect(await accessibilityFindings(page)).toEqual([])
    await press(page, "g", "o")
    await page.getByText("Forward shop is paused, and records wait.").waitFor()
    await page.locator(".figure", { hasText: "unsent" }).getByText(/^▲1$/).waitFor()
    await page.getByRole("link", { name: "unsent" }).click()
    expect(receiver.all).toHaveLength(1)
    await page.getByRole("button", { name: "Resume shop" }).click()
    await receiver.count(2)
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.getByRole("cell", { name: "running", exact: true }).waitFor()
    expect(faults).toEqual([])
  },
)

describe.skipIf(!hasBrowser())("Replay", () => {
  const folder = temporaryFolder()
  const running = sharedByTests(() => startHookline(CONFIGURATION, { folder: folder.path }), folder)
  const browser = sharedByTests(startBrowser)
  beforeAll(async () => {
    const events = Array.from({ length: COUNT }, (_, n) => ({ n, type: n % 2 === 0 ? "even" : "odd" }))
    const { status } = await fetch(running.urls["payments"]!, {
      method: "POST",
      body: JSON.stringify(events),
    })
    expect(status).toBe(200)
  })
  const open = (path: string, settings: Parameters<typeof openPage>[2] = {}) =>
    openPage(browser, `${running.adminUrl}/${path}`, settings)

  test("what a URL refuses is shown for each record, and is linked", async () => {
    const posted: number[] = []
    using target = Bun.serve({
      port: 0,
      async fetch(request) {
        const { n } = (await request.json()) as { n: number }
        posted.push(n)
        return n % 10 === 3 ? new Response("no room", { status: 422 }) : new Response("ok")
      },
    })
    const { page, faults } = await open("#/replay?connection=log&topic=payments", { width: 400 })
    await page.getByText(`${COUNT} records in 1 partition`).waitFor()
    await page.getByLabel("A URL").check()
    await page.getByLabel("URL", { exact: true }).fill(`${target.url}hook?token=obviously-fake`)
    await page.getByRole("button", { name: "Count the records" }).click()
    await page.getByRole("heading", { name: `${COUNT} records` }).waitFor()
    await started(page)
    const row = job(page, /hook/)
    await row.getByText("done, with failures").waitFor()
    expect(posted).toEqual(Array.from({ length: COUNT }, (_, n) => n))
    await row.getByText("36 records", { exact: true }).waitFor()
    await row.getByText("4 failures").click()
    expect(await row.locator(".failures li").allInnerTexts()).toEqual(
      [3, 13, 23, 33].map((n) => expect.stringMatching(new RegExp(`^payments / 0 @ ${n} .*422`))),
    )
    expect(await row.innerText()).not.toContain("obviously-fake")
    expect(await overflowPx(page)).toBe(0)
    expect(await accessibilityFindings(page)).toEqual([])
    await row.getByRole("link", { name: "payments / 0 @ 13" }).click()
    await page.waitForURL((url) => url.hash === "#/events/log/payments/0/13")
    expect(faults).toEqual([])
  })

  test("a slow replay shows its way, is paused, resumed and cancelled, also over a reload of the page", async () => {
    const { page } = await open("#/replay?connection=log&topic=payments")
    await page.getByRole("group", { name: "To" }).getByLabel("Topic", { exact: true }).fill("slow")
    await page.getByLabel("Records a second").fill("1")
    await page.getByRole("button", { name: "Count the records" }).click()
    await page.getByText("40 s at 1 a second").waitFor()
    await started(page)
    const row = job(page, "log/payments → log/slow")
    await row.getByText(/\d s left/).waitFor()
    expect(await page.evaluate("document.activeElement.ariaLabel")).toBe("log/payments → log/slow")
    await row.getByRole("button", { name: "Pause" }).click()
    await row.getByText("paused", { exact: true }).waitFor()
    await page.reload()
    await row.getByText("paused", { exact: true }).waitFor()
    await row.getByRole("button", { name: "Resume" }).click()
    await row.getByText("running", { exact: true }).waitFor()
    await row.getByRole("button", { name: "Cancel" }).click()
    await row.getByText("cancelled", { exact: true }).waitFor()
    expect(await row.getByRole("button").count()).toBe(0)
    expect(await row.getByRole("progressbar").getAttribute("value")).toMatch(/^0\.\d+$/)
  })

  test("a target that can't be reached is waited for, and says why", async () => {
    const { page } = await open("#/replay?connection=log&topic=payments")
    await page.getByLabel("A URL").check()
    await page.getByLabel("URL", { exact: true }).fill("http://127.0.0.1:1/nobody")
    await page.getByRole("button", { name: "Count the records" }).click()
    await started(page)
    const row = job(page, "log/payments → http://127.0.0.1:1/nobody")
    await row.getByText("waiting", { exact: true }).waitFor()
    await row.getByText(/refused|connect/i).waitFor()
    await row.getByRole("button", { name: "Cancel" }).click()
    await row.getByText("cancelled", { exact: true }).waitFor()
  })

  test("what is wrong with a range, or a source whose broker is down, is said at the form; nothing is lost of it", async () => {
    const { page } = await open("#/replay?connection=log&topic=payments&partition=7")
    const to = page.getByRole("group", { name: "To" })
    await to.getByLabel("Topic", { exact: true }).fill("copy")
    const count = page.getByRole("button", { name: "Count the records" })
    await count.click()
    await page.getByRole("alert").getByText("Topic payments has no partition 7; it has 1").waitFor()
    await page.getByLabel("Partition").fill("0")
    await page.getByLabel("Filter").fill("/type")
    await count.click()
    await page.getByRole("alert").getByText("Write some text, /type = invoice.*").waitFor()
    expect(await to.getByLabel("Topic", { exact: true }).inputValue()).toBe("copy")
    await page.goto(`${running.adminUrl}/#/replay?connection=kafka&topic=down`)
    await to.getByLabel("Topic", { exact: true }).fill("copy")
    await count.click()
    await page
      .getByRole("alert")
      .getByText(/Kafka unavailable|unreachable|not be reached/i)
      .waitFor()
    expect(await accessibilityFindings(page)).toEqual([])
  })
})
