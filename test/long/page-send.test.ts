import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { accessibilityFindings, hasBrowser, openPage, press, startBrowser } from "../support/browser.ts"
import { sharedByTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { valuesInLog } from "../support/log-values.ts"
import { copiedText, overflowPx, tabTo } from "../support/page.ts"

const CONFIGURATION = `
[connection:log]
directory = log
[pipeline:payments:WebHookSource]
path = /payments
[pipeline:payments:Verifier]
provider = stripe
secret = whsec_obviously_fake_secret
[pipeline:payments:BrokerSink]
topic = payments
[pipeline:code:WebHookSource]
path = /code
[pipeline:code:Verifier]
provider = github
secret = obviously-fake-secret
[pipeline:code:BrokerSink]
topic = code
[pipeline:open:WebHookSource]
path = /open
[pipeline:open:BrokerSink]
topic = open
`
const THEMES = ["light", "dark"] as const

const answer = (page: Page) => page.getByRole("region", { name: "Answer" })
const send = (page: Page) => page.getByRole("button", { name: /^Send/ })

test.skipIf(!hasBrowser())(
  "a failing webhook is pasted and explained in Verify, in both themes and three widths",
  async () => {
    using folder = temporaryFolder()
    await using running = await startHookline(CONFIGURATION, { folder: folder.path })
    await using browser = await startBrowser()
    for (const theme of THEMES)
      for (const width of [1440, 768, 390]) {
        const { page, faults } = await openPage(browser, `${running.adminUrl}/#/verify/code`, {
          theme,
          width,
        })
        const paste = page.getByRole("textbox", { name: /^A failing webhook/ })
        await paste.fill('X-Hub-Signature-256: sha256=00\nX-GitHub-Event: issues\n\n{"action":"opened"}')
        await paste.press("Control+Enter")
        const explanation = page.getByRole("region", { name: "Explanation" })
        await explanation.getByRole("heading", { name: "What failed" }).waitFor()
        await explanation.getByText("failed", { exact: true }).waitFor()
        await page.getByLabel("With the secret and settings of").selectOption("")
        await page.getByLabel("Secret", { exact: true }).fill("another")
        await paste.fill("nothing of HTTP")
        await page.getByRole("button", { name: /^Explain it/ }).click()
        await page.getByRole("alert").getByText("not a request").waitFor()
        expect(await overflowPx(page)).toBe(0)
        expect(await accessibilityFindings(page)).toEqual([])
        // the answer to what was no request
        expect(faults.filter((it) => !it.includes("400"))).toEqual([])
        await page.context().close()
      }
  },
)

describe.skipIf(!hasBrowser())("an empty page", () => {
  const browser = sharedByTests(startBrowser)

  test.each(THEMES)(
    "says what to do, sends a sample by keyboard alone, and is gone with the first event, %s",
    async (theme) => {
      using folder = temporaryFolder()
      await using running = await startHookline(CONFIGURATION, { folder: folder.path })
      const { page, faults } = await openPage(browser, running.adminUrl!, { theme, width: 400 })
      await page.getByRole("heading", { name: "Waiting for the first event" }).waitFor()
      await page.getByRole("button", { name: "Send a sample" }).waitFor()
      await page.getByText("STRIPE_WEBHOOK_SECRET").waitFor()
      expect(await overflowPx(page)).toBe(0)
      expect(await accessibilityFindings(page)).toEqual([])

      await page.getByRole("button", { name: "Copy address" }).click()
      expect(await copiedText(page)).toBe(running.urls["payments"]!)
      await page.getByLabel("Provider").selectOption("twilio")
      await page.getByRole("button", { name: "Copy configuration" }).click()
      expect(await copiedText(page)).toContain("[pipeline:payments:Verifier]\nprovider = twilio")
      await page.getByRole("tab", { name: "ngrok" }).click()
      await page.getByText(`ngrok http ${new URL(running.urls["payments"]!).port}`).waitFor()

      await page.locator("main").focus()
      await tabTo(page, "Send a sample")
      await press(page, "Enter")
      await page.waitForURL((url) => url.hash === "#/events/log/payments/0/0")
      await page.getByRole("heading", { name: "payment_intent.succeeded" }).waitFor()
      await press(page, "g", "o")
      await page.getByRole("link", { name: "payments" }).first().waitFor()
      expect(await page.getByText("Waiting for the first event").count()).toBe(0)
      expect(faults).toEqual([])
    },
  )

  test("is gone by itself when a sender's first event comes", async () => {
    using folder = temporaryFolder()
    await using running = await startHookline(CONFIGURATION, { folder: folder.path })
    const { page } = await openPage(browser, running.adminUrl!)
    const waiting = page.getByRole("heading", { name: "Waiting for the first event" })
    await waiting.waitFor()
    expect((await fetch(running.urls["payments"]!, { method: "POST", body: "{}" })).status).toBe(401)
    await page.getByText("1 request came and was refused").waitFor()
    expect((await fetch(running.urls["open"]!, { method: "POST", body: "{}" })).status).toBe(200)
    await waiting.waitFor({ state: "detached" })
  })

  test.each([
    ["light", 1440],
    ["dark", 390],
  ] as const)("stays at hand as Connect: a sample is answered there (%s, %d px)", async (theme, width) => {
    using folder = temporaryFolder()
    await using running = await startHookline(CONFIGURATION, { folder: folder.path })
    const { page, faults } = await openPage(browser, `${running.adminUrl}/#/connect/payments`, {
      theme,
      width,
    })
    await page.getByRole("heading", { name: "Connect a sender" }).waitFor()
    await page.getByText("At Stripe: Workbench, Webhooks").waitFor()
    await page.getByRole("button", { name: "Send a sample" }).click()
    await page.getByText("Answered 200").waitFor()
    expect(new URL(page.url()).hash).toBe("#/connect/payments")
    expect(await accessibilityFindings(page)).toEqual([])
    expect(await overflowPx(page)).toBe(0)
    expect(faults).toEqual([])
  })
})

describe.skipIf(!hasBrowser())("Send", () => {
  const folder = temporaryFolder()
  const running = sharedByTests(() => startHookline(CONFIGURATION, { folder: folder.path }), folder)
  const browser = sharedByTests(startBrowser)

  test.each([
    ["payments", "light", '"payment_intent.succeeded"'],
    ["code", "dark", '"repository"'],
    ["open", "dark", '"type"'],
  ] as const)(
    "a sample for %s is accepted, and its record is linked, by keyboard alone",
    async (pipeline, theme, part) => {
      const next = (await valuesInLog(join(folder.path, "log"), pipeline)).length
      const { page, faults } = await openPage(browser, `${running.adminUrl}/#/send/${pipeline}`, { theme })
      const body = page.getByLabel("Body")
      await until("the sample is there", async () => (await body.inputValue()) !== "")
      expect(await body.inputValue()).toContain(part)
      await tabTo(page, "Send")
      await press(page, "Control+Enter")
      await answer(page).getByText("Answered 200").waitFor()
      expect(await accessibilityFindings(page)).toEqual([])
      await tabTo(page, `${pipeline} / 0 @ ${next}`)
      await press(page, "Enter")
      await page.waitForURL((url) => url.hash === `#/events/log/${pipeline}/0/${next}`)
      await page.getByRole("region", { name: "Event" }).getByText(part.slice(1, -1)).first().waitFor()
      expect(faults).toEqual([])
    },
  )

  test("an edited body is sent as it is written; what the pipeline refuses is shown with its reason", async () => {
    const { page } = await openPage(browser, `${running.adminUrl}/#/send/open`, { width: 400 })
    const body = page.getByLabel("Body")
    await body.fill('{"n":12345678901234567890}')
    await send(page).click()
    await answer(page).getByRole("link").click()
    await page.getByRole("region", { name: "Event" }).getByText("12345678901234567890").waitFor()
    await page.goto(`${running.adminUrl}/#/send/open`)
    await body.fill("no json")
    await page.getByText("it is sent as it is").waitFor()
    await send(page).click()
    await answer(page).getByText("Answered 400").waitFor()
    await answer(page).getByText("The body is not valid JSON").waitFor()
    expect(await overflowPx(page)).toBe(0)
    expect(await accessibilityFindings(page)).toEqual([])
  })

  test("a request that is not signed is refused", async () => {
    const { page } = await openPage(browser, `${running.adminUrl}/#/send/payments`)
    const isSigned = page.getByLabel("Sign it with the pipeline's secret")
    expect((await isSigned.boundingBox())!.width).toBeLessThan(20)
    await isSigned.uncheck()
    await send(page).click()
    await answer(page).getByText("Answered 401").waitFor()
  })

  test("another provider's sample has its body", async () => {
    const { page } = await openPage(browser, `${running.adminUrl}/#/send/open`)
    await page.getByLabel("Sample").selectOption("shopify")
    const body = page.getByLabel("Body")
    // a text is no function here: the page's CSP lets none be evaluated while it is polled
    await page.waitForFunction(
      (element) => (element as unknown as { value: string }).value.includes("line_items"),
      await body.elementHandle(),
    )
    await send(page).click()
    await answer(page).getByText("Answered 200").waitFor()
  })

  test("a service that stops while the page is open: the form keeps what was written, and says what is so", async () => {
    await using other = await startHookline(CONFIGURATION, {
      folder: folder.make("stopped") && `${folder.path}/stopped`,
    })
    const { page } = await openPage(browser, `${other.adminUrl}/#/send/open`)
    const body = page.getByLabel("Body")
    await body.fill('{"written":"by hand"}')
    await other.stop()
    await send(page).click()
    await answer(page).getByText("Hookline does not answer").waitFor()
    expect(await body.inputValue()).toBe('{"written":"by hand"}')
  })
})

test.skipIf(!hasBrowser())("the page of read_token shows everything, and what acts is disabled", async () => {
  await using browser = await startBrowser()
  using folder = temporaryFolder()
  const tokens =
    "[admin]\nlisten = 127.0.0.1:0\ntoken = obviously-fake-admin-token\nread_token = obviously-fake-read-token\n"
  await using running = await startHookline(CONFIGURATION + tokens, { folder: folder.path })
  await fetch(running.urls["open"]!, { method: "POST", body: "[]" })
  const { page } = await openPage(browser, `${running.adminUrl}/#/send/open`, { width: 400 })
  await page.getByLabel("Token of").fill("obviously-fake-read-token")
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByText("read-only", { exact: true }).waitFor()
  const isDisabled = async (name: RegExp): Promise<boolean> => {
    const button = page.getByRole("button", { name })
    await button.waitFor()
    return button.isDisabled()
  }
  expect(await isDisabled(/^Send/)).toBe(true)
  await page.keyboard.press("Control+Enter")
  await page.getByText("read_token is read-only").waitFor()
  expect(await overflowPx(page)).toBe(0)
  expect(await accessibilityFindings(page)).toEqual([])
  await page.goto(`${running.adminUrl}/#/refused`)
  await page.getByRole("list", { name: "Requests, newest first" }).getByRole("link").first().click()
  expect(await isDisabled(/^Send it again now/)).toBe(true)
})
