import { describe, test } from "bun:test"
import type { Page } from "playwright-core"
import { hasBrowser, openPage, startBrowser } from "../support/browser.ts"
import { sharedByTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"

const VIEWS: readonly (readonly [view: string, shown: (page: Page) => Promise<void>])[] = [
  ["send", (page) => page.getByLabel("Body").waitFor()],
  ["replay", (page) => page.getByRole("button", { name: "Count the records…" }).waitFor()],
  ["events", (page) => page.getByLabel("Topic").waitFor()],
]

const configurationOf = async (): Promise<string> => `
[connection:log]
directory = log
[pipeline:payments:WebHookSource]
[pipeline:payments:BrokerSink]
topic = payments
[admin]
listen = 127.0.0.1:${await freePort()}
`

describe.skipIf(!hasBrowser())("a view of the page that is opened while the service is down", () => {
  const browser = sharedByTests(startBrowser)

  test.each(VIEWS)("shows its content when the service is back: %s", async (view, shown) => {
    using folder = temporaryFolder()
    const configuration = await configurationOf()
    const running = await startHookline(configuration, { folder: folder.path })
    const { page } = await openPage(browser, running.adminUrl!, { theme: "light", width: 1000 })
    await page.getByRole("heading", { name: "Waiting for the first event" }).waitFor()
    await running.stop()
    await page.evaluate(`location.hash = "#/${view}"`)
    await page.getByText("Hookline does not answer").first().waitFor()
    await using _ = await startHookline(configuration, { folder: folder.path })
    await shown(page)
    await page.getByText("Hookline does not answer").first().waitFor({ state: "hidden" })
    await page.context().close()
  })

  test("what Send got no answer to can be sent when the service is back, and was not sent by itself", async () => {
    using folder = temporaryFolder()
    const configuration = await configurationOf()
    const running = await startHookline(configuration, { folder: folder.path })
    const { page } = await openPage(browser, `${running.adminUrl}/#/send/payments`)
    await page.getByLabel("Body").waitFor()
    await running.stop()
    const answer = page.getByRole("region", { name: "Answer" })
    await page.getByRole("button", { name: /^Send/ }).click()
    await answer.getByText("Hookline does not answer").waitFor()
    await using _ = await startHookline(configuration, { folder: folder.path })
    await answer.getByText("The answer, and the event that it becomes, appear here.").waitFor()
    await page.getByRole("button", { name: /^Send/ }).click()
    await answer.getByText("published as").waitFor()
    await answer.getByText("payments / 0 @ 0").waitFor()
    await page.context().close()
  })
})
