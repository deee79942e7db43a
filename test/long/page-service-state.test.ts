import { describe, expect, test } from "bun:test"
import type { Page } from "playwright-core"
import { hasBrowser, openPage, startBrowser } from "../support/browser.ts"
import { sharedByTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"

const configurationOf = async (connection: string): Promise<string> => `
[connection:log]
${connection}
[pipeline:payments:WebHookSource]
port = ${await freePort()}
[pipeline:payments:BrokerSink]
topic = payments
[admin]
listen = 127.0.0.1:${await freePort()}
`

/** Resolves once the tab's title and icon are so. */
const tabIs = (page: Page, title: RegExp, isMarked: boolean): Promise<unknown> =>
  page.waitForFunction(
    `${title}.test(document.title) && document.querySelector("link[rel=icon]").href.startsWith("data:") === ${isMarked}`,
  )

describe.skipIf(!hasBrowser())("the service's state, in the header and the browser's tab", () => {
  const browser = sharedByTests(startBrowser)

  test("a frozen service is unknown since it was last heard from, and well again when it continues", async () => {
    using folder = temporaryFolder()
    await using running = await startHookline(await configurationOf("directory = log"), {
      folder: folder.path,
    })
    const { page, faults, requests } = await openPage(browser, running.adminUrl!)
    const connections = (): number => requests.filter((it) => it.url().endsWith("/api/live")).length
    const header = page.locator(".service")
    await header.getByText("all well").waitFor()
    const before = connections()
    await tabIs(page, /^Overview · Hookline$/, false)
    running.signal("SIGSTOP")
    await header.getByText(/^unknown since \d\d:\d\d:\d\d$/).waitFor()
    // by the heartbeats that stay away, not after the 40 s in which a connection is given up
    expect(connections()).toBe(before)
    expect(await header.getByText("all well").count()).toBe(0)
    await tabIs(page, /^◌ unknown since \d\d:\d\d:\d\d · Overview · Hookline$/, true)
    await page.getByText("Hookline does not answer").first().waitFor()
    running.signal("SIGCONT")
    await header.getByText("all well").waitFor()
    await tabIs(page, /^Overview · Hookline$/, false)
    expect(faults).toEqual([])
    await page.context().close()
  })

  test("one that is not ready has the state in the title of every view, and a mark on its icon", async () => {
    using folder = temporaryFolder()
    const configuration = await configurationOf(`bootstrap_servers = 127.0.0.1:${await freePort()}`)
    await using running = await startHookline(configuration, { folder: folder.path })
    const { page, faults } = await openPage(browser, running.adminUrl!)
    await page.locator(".service").getByText("not ready").waitFor()
    await tabIs(page, /^✕ not ready · Overview · Hookline$/, true)
    await page.getByRole("link", { name: "Verify" }).click()
    await tabIs(page, /^✕ not ready · Verify · Hookline$/, true)
    expect(faults).toEqual([])
    await page.context().close()
  })
})
