import { describe, expect, test } from "bun:test"
import type { Page } from "playwright-core"
import { accessibilityFindings, hasBrowser, openPage, press, startBrowser } from "../support/browser.ts"
import { sharedByTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { copiedText, overflowPx } from "../support/page.ts"
import { postAsStripe } from "../support/stripe-events.ts"

const SECRET = "whsec_obviously_fake_secret"
const BODY = '{"id":"evt_1","type":"invoice.paid","amount":12345678901234567890}'

const configuration = (adminPort: number, secret: string, capture = ""): string => `
[connection:log]
directory = log
[pipeline:payments:WebHookSource]
path = /payments
[pipeline:payments:Verifier]
provider = stripe
secret = ${secret}
[pipeline:payments:BrokerSink]
topic = payments
[pipeline:open:WebHookSource]
path = /open
[pipeline:open:BrokerSink]
topic = open
[admin]
listen = 127.0.0.1:${adminPort}
${capture}
`

const statusOf = async (url: string, init: RequestInit): Promise<number> =>
  (await fetch(url, { method: "POST", ...init })).status

const rows = (page: Page) => page.getByRole("list", { name: "Requests, newest first" }).getByRole("link")
const detail = (page: Page) => page.getByRole("region", { name: "Request" })

describe.skipIf(!hasBrowser())("Refused", () => {
  const browser = sharedByTests(startBrowser)

  test("a request that is refused before its body is read says so, and can't be sent again", async () => {
    using folder = temporaryFolder()
    const text = configuration(0, SECRET).replace("path = /open", "path = /open\nmax_body_bytes = 10")
    await using running = await startHookline(text, { folder: folder.path })
    const { page } = await openPage(browser, `${running.adminUrl}/#/refused`)
    expect(await statusOf(running.urls["open"]!, { body: '{"too":"large"}' })).toBe(413)
    await rows(page).click()
    await detail(page).getByRole("tab", { name: "Raw" }).click()
    await detail(page).getByText("It was refused before its body was read.").waitFor()
    await press(page, "r")
    await detail(page).getByText("have its sender send it again").waitFor()
  }, 30_000)

  test("why a request got 503 is said once, with what becomes of it", async () => {
    using folder = temporaryFolder()
    const text = `${configuration(0, SECRET)}
[connection:kafka]
bootstrap_servers = 127.0.0.1:9
delivery_timeout = 1s
[pipeline:down:WebHookSource]
path = /down
[pipeline:down:Verifier]
provider = stripe
secret = ${SECRET}
[pipeline:down:BrokerSink]
connection = kafka
topic = down
`.replaceAll(/(topic = (?:payments|open))/g, "$1\nconnection = log")
    await using running = await startHookline(text, { folder: folder.path })
    const { page } = await openPage(browser, `${running.adminUrl}/#/refused`)
    expect((await postAsStripe(running.urls["down"]!, SECRET, BODY)).status).toBe(503)
    await rows(page).click()
    await detail(page).getByText("so the signature can't be checked").waitFor()
    const shown = (await detail(page).innerText()).toLowerCase()
    expect(shown.match(/the broker did not acknowledge/g)).toHaveLength(1)
    expect(shown).toContain("its sender is told to send it again")
  }, 30_000)

  test("where requests are not captured, the page says how to have them captured", async () => {
    using folder = temporaryFolder()
    await using running = await startHookline(configuration(0, SECRET, "capture = off"), {
      folder: folder.path,
    })
    const { page, faults } = await openPage(browser, `${running.adminUrl}/#/refused`)
    await page.getByRole("heading", { name: "Requests are not captured" }).waitFor()
    await page.getByRole("button", { name: "Copy configuration" }).click()
    const copied = await copiedText(page)
    expect(copied).toBe("[admin]\ncapture = refused")
    expect(faults).toEqual([])
  }, 30_000)

  test("a hundred requests fit a window of 400 px, and are paged", async () => {
    using folder = temporaryFolder()
    await using running = await startHookline(configuration(0, SECRET), { folder: folder.path })
    const send = (): Promise<number> => statusOf(running.urls["open"]!, { body: "no json" })
    for (let n = 0; n < 130; n++) await send()
    const { page } = await openPage(browser, `${running.adminUrl}/#/refused`, { width: 400 })
    await rows(page).first().waitFor()
    expect(await rows(page).count()).toBe(100)
    const more = page.getByRole("button", { name: "Show older ones" })
    await more.click()
    await more.waitFor({ state: "detached" })
    expect(await rows(page).count()).toBe(130)
    await rows(page).first().click()
    await detail(page).getByRole("heading", { name: "400 The body is not JSON" }).waitFor()
    expect(await overflowPx(page)).toBe(0)
    expect(await accessibilityFindings(page)).toEqual([])
  }, 30_000)
})
