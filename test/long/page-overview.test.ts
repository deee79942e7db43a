import { describe, expect, test } from "bun:test"
import type { Page } from "playwright-core"
import { accessibilityFindings, hasBrowser, openPage, press, startBrowser } from "../support/browser.ts"
import { sharedByTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { overflowPx } from "../support/page.ts"
import { freePorts } from "../support/ports.ts"
import { postAsStripe } from "../support/stripe-events.ts"
import { connectionsWith, pipelineTo } from "../support/troubled.ts"

const SECRET = "whsec_fake_for_tests"

/** A service with pipelines that are well, and one for each kind of trouble. */
async function startTroubled() {
  const folder = temporaryFolder()
  const [port, admin, unreachable] = (await freePorts(3)) as [number, number, number]
  const running = await startHookline(
    `${connectionsWith(unreachable)}[defaults:WebHookSource]
host = 127.0.0.1
port = ${port}
${pipelineTo("good")}${pipelineTo("unused")}${pipelineTo("quiet", "log", "expect_every = 1s")}${pipelineTo("spooled", "kept")}
${pipelineTo("wrong", "log", `[pipeline:wrong:Verifier]\nprovider = stripe\nsecret = whsec_of_somebody_else`)}
${pipelineTo("down", "kafka")}
[admin]
listen = 127.0.0.1:${admin}
`,
    { folder: folder.path },
  )
  const url = (id: string): string => running.urls[id]!
  for (let n = 0; n < 20; n++) await fetch(url("good"), { method: "POST", body: `{"n":${n}}` })
  await fetch(url("spooled"), { method: "POST", body: "{}" })
  for (let n = 0; n < 6; n++) await postAsStripe(url("wrong"), SECRET, `{"id":"evt_${n}"}`)
  return {
    adminUrl: running.adminUrl!,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

const names = (page: Page): Promise<string[]> => page.locator(".pipelines tbody tr th > a").allTextContents()

describe.skipIf(!hasBrowser())("the page's Overview", () => {
  const browser = sharedByTests(startBrowser)
  const service = sharedByTests(startTroubled)

  test.each([
    ["light", 1440],
    ["light", 768],
    ["light", 390],
    ["dark", 1440],
    ["dark", 768],
    ["dark", 390],
  ] as const)(
    "in the %s theme, %d px wide: totals, a chart and states with their cause, problems first, nothing cut",
    async (theme, width) => {
      const { page, faults } = await openPage(browser, service.adminUrl, { theme, width })
      const row = (name: string) => page.locator(`tr[data-id="${name}"]`)
      await row("quiet")
        .getByText(/^silent since \d\d:\d\d: an event is expected every 1 s$/)
        .filter({ visible: true })
        .waitFor()
      await row("wrong").getByText("refusing: no secret or key matches").filter({ visible: true }).waitFor()
      const down = row("down").getByText(/^down since \d\d:\d\d: connection kafka: Kafka unavailable/)
      await down.filter({ visible: true }).waitFor()
      await row("good").getByText("receiving").filter({ visible: true }).waitFor()
      await row("unused").getByText("no event yet").filter({ visible: true }).waitFor()
      expect(await names(page)).toEqual(["down", "wrong", "quiet", "good", "unused", "spooled"])

      const totals = page.getByRole("region", { name: "The whole service" })
      await totals
        .getByText(/^[\d.]+\/s$/)
        .first()
        .waitFor()
      for (const figure of ["accepted", "refused", "p99", /^unsent, oldest for/, "of disk"])
        expect(await totals.locator(".figure").filter({ hasText: figure }).count()).toBe(1)
      await totals
        .getByRole("figure", { name: /^Events.*accepted now .*; dropped now 0\/s.*; refused now / })
        .waitFor()
      await totals.locator("canvas").waitFor()

      expect(await overflowPx(page)).toBe(0)
      const cut = `[...document.querySelectorAll(".number")].filter((it) => it.checkVisibility() && it.scrollWidth > it.clientWidth && it.clientWidth > 0).map((it) => it.textContent)`
      expect(await page.evaluate<string[]>(cut)).toEqual([])
      if (width < 900) {
        const heights = `[...document.querySelectorAll(".pipelines tbody tr")].map((it) => it.offsetHeight)`
        expect(Math.min(...(await page.evaluate<number[]>(heights)))).toBeGreaterThanOrEqual(44)
      }
      if (width < 600) expect(await page.locator("kbd").filter({ visible: true }).count()).toBe(0)
      expect(await accessibilityFindings(page)).toEqual([])
      expect(faults).toEqual([])
      await page.context().close()
    },
  )

  test("the events' rows are 44 px high where the window is narrow, also after it was turned", async () => {
    const { page, faults } = await openPage(browser, `${service.adminUrl}/#/events/log/good`, { width: 844 })
    const height = (): Promise<number> =>
      page.evaluate<number>(`document.querySelector(".record[data-place]").offsetHeight`)
    const last = page.locator('.record[data-place="0:0"]')
    await last.waitFor()
    expect(await height()).toBe(32)
    await page.setViewportSize({ width: 390, height: 844 })
    await page.waitForFunction(`document.querySelector(".record[data-place]").offsetHeight === 44`)
    await last.scrollIntoViewIfNeeded()
    expect(await overflowPx(page)).toBe(0)
    expect(faults).toEqual([])
    await page.context().close()
  })

  test("columns sort, and a third press leads back to problems first", async () => {
    const { page } = await openPage(browser, service.adminUrl, { width: 1440 })
    await page.locator('tr[data-id="good"]').waitFor()
    const head = (name: string) => page.getByRole("columnheader", { name }).getByRole("button")
    await head("Events").click()
    expect((await names(page))[0]).toBe("good")
    expect(await page.getByRole("columnheader", { name: "Events" }).getAttribute("aria-sort")).toBe(
      "descending",
    )
    await head("Refused").click()
    expect((await names(page))[0]).toBe("wrong")
    await head("Pipeline").click()
    expect(await names(page)).toEqual(["down", "good", "quiet", "spooled", "unused", "wrong"])
    await head("Pipeline").click()
    await head("Pipeline").click()
    expect((await names(page)).slice(0, 3)).toEqual(["down", "wrong", "quiet"])
    await page.context().close()
  })

  test("Enter moves the focus into the pipeline that it opens, and Escape back", async () => {
    const { page } = await openPage(browser, service.adminUrl)
    const link = page.locator('tr[data-id="wrong"]').getByRole("link", { name: "wrong", exact: true })
    const focused = (): Promise<string | null> =>
      page.evaluate<string | null>(
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent",
      )
    await link.waitFor()
    await press(page, "j", "j", "Enter")
    await page.getByRole("region", { name: /^Pipeline / }).waitFor()
    expect(await focused()).toStartWith("Pipeline ")
    await press(page, "Escape")
    await page.getByRole("region", { name: /^Pipeline / }).waitFor({ state: "detached" })
    await link.focus()
    await press(page, "Enter")
    await page.locator('section[aria-label="Pipeline wrong"]:focus').waitFor()
    await press(page, "Escape")
    await page.locator("a:focus", { hasText: "wrong" }).waitFor()
    await page.context().close()
  })

  test("on a slow line the header and the tabs are shown before the script has come", async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    const { promise, resolve } = Promise.withResolvers<void>()
    await page.route("**/*.js", async (route) => {
      await promise
      await route.continue()
    })
    await page.goto(service.adminUrl, { waitUntil: "commit" })
    await page.getByRole("link", { name: "Deliveries" }).waitFor()
    const tabs = page.getByRole("navigation", { name: "Views" }).getByRole("link")
    const first = await tabs.allTextContents()
    resolve()
    await page.locator('tr[data-id="good"]').waitFor()
    expect((await tabs.allTextContents()).map((it) => it.replace(/\d+$/, ""))).toEqual(first)
    await context.close()
  })
})
