import { describe, expect, test } from "bun:test"
import type { Page } from "playwright-core"
import type { Overview } from "../../src/admin/api/overview-shape.ts"
import { accessibilityFindings, hasBrowser, openPage, press, startBrowser } from "../support/browser.ts"
import {
  reload,
  sharedByTests,
  startHookline,
  temporaryFolder,
  type RunningHookline,
} from "../support/hookline.ts"
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

/** When it was last seen that an event had come, in milliseconds since 1970. */
async function lastEventOfPayments(adminUrl: string): Promise<number> {
  const { pipelines } = (await (await fetch(`${adminUrl}/api/overview`)).json()) as Overview
  return pipelines.find(({ id }) => id === "payments")!.last_event_at ?? 0
}

const rows = (page: Page) => page.getByRole("list", { name: "Requests, newest first" }).getByRole("link")
const groups = (page: Page) => page.getByRole("list", { name: "By pipeline and reason" }).locator("> li")
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
    await detail(page).getByText("have its sender send it again").waitFor()
    expect(await detail(page).getByRole("button", { name: "Send it again now" }).count()).toBe(0)
    await detail(page).getByRole("tab", { name: "Raw" }).click()
    await detail(page).getByText("It was refused before its body was read.").waitFor()
    await press(page, "f")
    await page.getByText("Copied: configuration").waitFor()
    expect(await copiedText(page)).toBe("[pipeline:open:WebHookSource]\nmax_body_bytes = 1KiB")
  })

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
    expect(shown).toContain("the sender sends it again")
  })

  test("where requests are not captured, the page says how to have them captured", async () => {
    using folder = temporaryFolder()
    await using running = await startHookline(configuration(0, SECRET, "capture = off"), {
      folder: folder.path,
    })
    const { page, faults } = await openPage(browser, `${running.adminUrl}/#/refused`)
    expect(await statusOf(running.urls["open"]!, { body: "no json" })).toBe(400)
    await groups(page).filter({ hasText: "not valid JSON" }).waitFor()
    await page.locator(".badge", { hasText: "1" }).waitFor()
    await page.getByRole("heading", { name: "Requests are not captured" }).waitFor()
    await page.getByRole("button", { name: "Copy configuration" }).click()
    const copied = await copiedText(page)
    expect(copied).toBe("[admin]\ncapture = refused")
    expect(faults).toEqual([])
  })

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
    await groups(page).getByText("130", { exact: true }).waitFor()
    await rows(page).first().click()
    await detail(page).getByRole("heading", { name: "400 The body is not JSON" }).waitFor()
    expect(await overflowPx(page)).toBe(0)
    expect(await accessibilityFindings(page)).toEqual([])
  })

  /** 40 requests of another secret after 5 verified ones, two that are not signed, two that are no JSON and three duplicates. */
  const sendAll = async ({ urls, adminUrl }: RunningHookline): Promise<void> => {
    const payments = urls["payments"]!
    let lastMs = 0
    for (let n = 0; n < 8; n++) {
      lastMs = Date.now()
      await postAsStripe(payments, SECRET, BODY.replace("evt_1", `evt_${n % 5}`))
    }
    // the counters are sampled between the verified requests and the others
    while ((await lastEventOfPayments(adminUrl!)) < lastMs);
    for (let n = 0; n < 40; n++) await postAsStripe(payments, "whsec_obviously_other", BODY)
    expect(await statusOf(payments, { body: BODY })).toBe(401)
    expect(await statusOf(urls["tokens"]!, { body: BODY })).toBe(401)
    for (const body of ['{"id":"evt_1",}', "[1]"]) expect(await statusOf(urls["open"]!, { body })).toBe(400)
  }
  const DEDUPLICATED = `[pipeline:payments:Deduplicator]
[pipeline:tokens:WebHookSource]
path = /tokens
[pipeline:tokens:Verifier]
provider = gitlab
secret = obviously-fake-token
[pipeline:tokens:BrokerSink]
topic = tokens
[pipeline:payments:BrokerSink]`
  const capturing = (capture: string): string =>
    configuration(0, SECRET, `capture = ${capture}\ncapture_max_requests = 20`).replace(
      "[pipeline:payments:BrokerSink]",
      DEDUPLICATED,
    )

  test("refused requests are grouped by pipeline and reason, with what the log says, all that came, and whose fault it is", async () => {
    using folder = temporaryFolder()
    await using running = await startHookline(capturing("refused"), { folder: folder.path })
    await sendAll(running)
    const { page, faults } = await openPage(browser, `${running.adminUrl}/#/refused`)
    await page.locator(".badge", { hasText: "44" }).waitFor()
    expect(await groups(page).count()).toBe(5)
    const wrongSecret = groups(page).filter({ hasText: "No secret or key matches: signature mismatch" })
    await wrongSecret.getByText("40", { exact: true }).waitFor()
    await wrongSecret.getByText(/8 requests verified until \d\d:\d\d, none since/).waitFor()
    await groups(page)
      .filter({ hasText: "no X-Gitlab-Token" })
      .getByText("No request of tokens was ever verified")
      .waitFor()
    await groups(page).filter({ hasText: "no Stripe-Signature" }).getByText("It is not signed").waitFor()
    // the newest is open, and the flood has displaced none of the others
    await rows(page).getByText("expected { at byte 0").waitFor()
    await groups(page).filter({ hasText: "expected a name in quotes" }).getByRole("button").click()
    await rows(page).click()
    await detail(page).getByText('{"id":"evt_1",}\n              ^').waitFor()
    expect(await detail(page).getByRole("button", { name: "Copy the lines" }).count()).toBe(0)
    await groups(page).filter({ hasText: "expected { at byte 0" }).getByRole("button").click()
    await rows(page).click()
    await detail(page).getByRole("button", { name: "Copy the lines for [pipeline:open:Decoder]" }).click()
    expect(await copiedText(page)).toBe("[pipeline:open:Decoder]\nlists = split")
    await press(page, "Escape")
    await wrongSecret.getByRole("button").click()
    await rows(page).first().waitFor()
    // a reload of the page opens the same
    await page.reload()
    await rows(page).first().waitFor()
    expect(await groups(page).getByRole("button", { expanded: true }).innerText()).toContain("payments")
    expect(faults).toEqual([])
  })

  test("dropped events are counted by reason, and listed where they are captured", async () => {
    using folder = temporaryFolder()
    await using running = await startHookline(capturing("refused"), { folder: folder.path })
    await sendAll(running)
    const { page } = await openPage(browser, `${running.adminUrl}/#/refused`)
    await page.getByLabel("Outcome").selectOption({ label: "Dropped and duplicates" })
    const duplicates = groups(page).filter({ hasText: "published before" })
    await duplicates.getByText("3", { exact: true }).waitFor()
    await duplicates.getByText("Nothing is missing").waitFor()
    await duplicates.getByRole("heading", { name: "Dropped requests are not captured" }).waitFor()
    expect(await reload(running, folder.path, capturing("all"))).toBe("reloaded")
    expect((await postAsStripe(running.urls["payments"]!, SECRET, BODY)).status).toBe(200)
    await rows(page).click()
    await detail(page).getByText("The request is verified.").waitFor()
    await duplicates.getByText("4", { exact: true }).waitFor()
  })

  test("it fits and is accessible in both themes and three widths", async () => {
    using folder = temporaryFolder()
    await using running = await startHookline(capturing("refused"), { folder: folder.path })
    await sendAll(running)
    for (const theme of ["light", "dark"] as const)
      for (const width of [1440, 768, 390]) {
        const { page, faults } = await openPage(browser, `${running.adminUrl}/#/refused`, { theme, width })
        await groups(page).filter({ hasText: "expected a name in quotes" }).getByRole("button").click()
        await rows(page).click()
        await detail(page).getByText('{"id":"evt_1",}').waitFor()
        expect(await accessibilityFindings(page)).toEqual([])
        expect(await overflowPx(page)).toBe(0)
        await page.goto(`${running.adminUrl}/#/refused?outcome=dropped`)
        await page.getByRole("heading", { name: "Dropped requests are not captured" }).waitFor()
        expect(await accessibilityFindings(page)).toEqual([])
        expect([await overflowPx(page), ...faults]).toEqual([0])
        await page.context().close()
      }
  })
})
