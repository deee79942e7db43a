import { expect, test } from "bun:test"
import { hasBrowser, openPage, startBrowser } from "../support/browser.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"

/** Turns around the text that follows it. */
const OVERRIDE = "\u202e"
const CONTROLS = "/[\\u0000-\\u0008\\u007f-\\u009f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]/"

test.skipIf(!hasBrowser())(
  "text of a sender that would turn around its neighbours is shown escaped, on each view that has it",
  async () => {
    using folder = temporaryFolder()
    const configuration = `
[connection:log]
directory = log
[pipeline:payments:WebHookSource]
port = ${await freePort()}
[pipeline:payments:BrokerSink]
topic = payments
key = json:/id
[admin]
listen = 127.0.0.1:${await freePort()}
`
    await using running = await startHookline(configuration, { folder: folder.path })
    const post = async (body: string): Promise<number> => {
      const { status } = await fetch(running.urls["payments"]!, { method: "POST", body })
      return status
    }
    expect(await post(`{"id":"k${OVERRIDE}1","te${OVERRIDE}xt":"a${OVERRIDE}b"}`)).toBe(200)
    expect(await post(`{"te${OVERRIDE}xt":`)).toBe(400)
    await using browser = await startBrowser()
    const { page, faults } = await openPage(browser, `${running.adminUrl}/#/events/log/payments`)
    const isClean = (): Promise<boolean> =>
      page.evaluate<boolean>(
        `!${CONTROLS}.test(document.body.textContent + [...document.querySelectorAll("[title]")].map((it) => it.title))`,
      )
    await page.getByText("k\\u202e1").first().click()
    await page.getByRole("button", { name: '"a\\u202eb"' }).waitFor()
    expect(await isClean()).toBe(true)
    for (const tab of ["Raw", "Headers", "curl"]) {
      await page.getByRole("tab", { name: tab }).click()
      await page.getByRole("tabpanel").waitFor()
      expect(await isClean()).toBe(true)
    }
    await page.goto(`${running.adminUrl}/#/refused`)
    await page.getByRole("list", { name: "Requests, newest first" }).getByRole("link").click()
    await page.getByRole("tab", { name: "Raw" }).click()
    await page.getByText('{"te\\u202ext":').waitFor()
    expect(await isClean()).toBe(true)
    expect(faults).toEqual([])
  },
)
