import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import type { Browser, Page } from "playwright-core"
import type { RecordCounts, RecordDetail } from "../../src/admin/api/shapes.ts"
import { accessibilityFindings, hasBrowser, openPage, press, startBrowser } from "../support/browser.ts"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { copiedText, overflowPx } from "../support/page.ts"
import { freePorts } from "../support/ports.ts"
import { postAsStripe } from "../support/stripe-events.ts"

const SECRET = "whsec_fake_for_tests"
const TYPES = ["invoice.paid", "invoice.sent", "charge.failed"]
/** Items of the list that one request publishes. */
const ITEMS = 1000

const configuration = (port: number, admin: number): string => `
[connection:log]
directory = log
[pipeline:payments:WebHookSource]
port = ${port}
path = /payments
[pipeline:payments:Verifier]
provider = stripe
secret = ${SECRET}
[pipeline:payments:BrokerSink]
topic = payments
headers = kind=json:/type
${["bulk", "burst"]
  .map(
    (name) => `[pipeline:${name}:WebHookSource]
port = ${port}
path = /${name}
[pipeline:${name}:Decoder]
lists = split
[pipeline:${name}:BrokerSink]
topic = ${name}
`,
  )
  .join("")}[admin]
listen = 127.0.0.1:${admin}
`

interface Scrolled {
  /** Milliseconds of each frame, the shortest first. */
  readonly frames: readonly number[]
  /** Rows that were in the document at once. */
  readonly most: number
  /** Rows that the list had at once. */
  readonly rows: number
  /** Offsets between the first events in sight of two frames, at most. */
  readonly leap: number
}

/** Runs in the page. */
const SCROLL_TO_THE_OLDEST = `(async () => {
  const list = document.querySelector(".virtual-list")
  const frames = []
  let most = 0
  let rows = 0
  let leap = 0
  let first
  for (let last = performance.now(); !list.textContent.includes("That is the oldest."); ) {
    list.scrollTop += 4000
    await new Promise(requestAnimationFrame)
    const now = performance.now()
    frames.push(now - last)
    last = now
    const inSight = [...list.querySelectorAll(".record")]
    const offset = Number(inSight[0].dataset.place.split(":")[1])
    leap = Math.max(leap, (first ?? offset) - offset)
    first = offset
    most = Math.max(most, inSight.length)
    rows = Math.max(rows, Math.floor(list.scrollHeight / 32))
  }
  list.scrollTop = list.scrollHeight
  return { frames: frames.sort((a, b) => a - b), most, rows, leap }
})()`

describe.skipIf(!hasBrowser())("Events", () => {
  let folder: ReturnType<typeof temporaryFolder>
  let running: RunningHookline
  let browser: Browser
  let conf: string
  let sent = 0
  beforeAll(async () => {
    folder = temporaryFolder()
    const [port, admin] = await freePorts(2)
    conf = configuration(port!, admin!)
    running = await startHookline(conf, { folder: folder.path })
    browser = await startBrowser()
    for (let n = 0; n < 60; n++) await publish()
  })
  afterAll(async () => {
    await browser.close()
    await running.stop()
    folder[Symbol.dispose]()
  })

  /** The next event; its number is its offset. */
  const bodyOf = (n: number): string =>
    `{"id":"evt_${n}","type":"${TYPES[n % TYPES.length]}", "amount":12345678901234567890.10,"text":"a\\u00e9 ${"x".repeat(400)}","list":[1,{"deep":[null]}]}`
  const publish = async (): Promise<number> => {
    const n = sent++
    const { status } = await postAsStripe(running.urls["payments"]!, SECRET, bodyOf(n))
    expect(status).toBe(200)
    return n
  }
  const publishBulk = async (pipeline: "bulk" | "burst", requests: number): Promise<void> => {
    const body = JSON.stringify(Array.from({ length: ITEMS }, (_, n) => ({ n, type: "bulk.item" })))
    for (let n = 0; n < requests; n++) {
      const { status } = await fetch(running.urls[pipeline]!, { method: "POST", body })
      expect(status).toBe(200)
    }
  }
  const storedValue = async (n: number): Promise<string> => {
    const record = await fetch(`${running.adminUrl}/api/records/log/payments/0/${n}`)
    const { value_base64 } = (await record.json()) as RecordDetail
    return Buffer.from(value_base64, "base64").toString()
  }
  let opened: Page | undefined
  const open = async (path: string, settings: Parameters<typeof openPage>[2] = {}) => {
    const shown = await openPage(browser, `${running.adminUrl}/${path}`, settings)
    opened = shown.page
    return shown
  }
  // the service has a limit of streams
  afterEach(async () => {
    await opened?.context().close()
    opened = undefined
  })
  const rowOf = (page: Page, n: number) => page.locator(`.record[data-place="0:${n}"]`)
  const offsets = (page: Page): Promise<number[]> =>
    page.evaluate<number[]>(
      "[...document.querySelectorAll('.record[data-place]')].map((row) => Number(row.dataset.place.split(':')[1]))",
    )

  test("a new event is on top within a second, with its type and id; paused it is counted, resumed it is shown", async () => {
    const { page, faults } = await open("#/events/log/payments")
    await rowOf(page, sent - 1).waitFor()
    const n = await publish()
    await rowOf(page, n).waitFor()
    expect((await offsets(page)).slice(0, 3)).toEqual([n, n - 1, n - 2])
    expect(await rowOf(page, n).innerText()).toContain(`evt_${n}`)
    await press(page, ".")
    const next = await publish()
    await page.getByText("1 new").waitFor()
    expect(await rowOf(page, next).count()).toBe(0)
    await press(page, ".")
    await rowOf(page, next).waitFor()
    expect(faults).toEqual([])
  })

  test("an opened event shows the numbers and bytes that were sent, headers, and curl; keys move to the next one", async () => {
    const { page, faults } = await open("#/events/log/payments")
    await rowOf(page, sent - 1).waitFor()
    await press(page, "j", "j", "Enter")
    const n = sent - 2
    await page.getByRole("heading", { name: TYPES[n % TYPES.length]! }).waitFor()
    expect(new URL(page.url()).hash).toBe(`#/events/log/payments/0/${n}`)
    const detail = page.getByRole("region", { name: "Event" })
    expect(await detail.locator(".json").innerText()).toContain('"amount": 12345678901234567890.10,')
    await detail.getByText("more characters").click()
    expect(await detail.locator(".json").innerText()).toContain(`"a\\u00e9 ${"x".repeat(400)}"`)
    await detail.getByRole("tab", { name: "Raw" }).click()
    const raw = (await detail.locator("pre").textContent())!
    expect(raw).toBe(await storedValue(n))
    expect(raw).toStartWith(bodyOf(n).slice(0, -1))
    await press(page, "ArrowRight")
    expect(await detail.locator(".header-table").innerText()).toContain(`kind\n${TYPES[n % TYPES.length]}`)
    await press(page, "c")
    const command = await page.evaluate<string>("navigator.clipboard.readText()")
    expect(command).toContain(running.urls["payments"]!)
    expect(command).toContain("12345678901234567890.10")
    await press(page, "j")
    await page.waitForURL((url) => url.hash.endsWith(`/${n - 1}`))
    await press(page, "r")
    await page.waitForURL((url) => url.hash.startsWith("#/replay?"))
    expect(new URL(page.url()).hash).toBe(
      `#/replay?connection=log&topic=payments&partition=0&from_offset=${n - 1}&until_offset=${n}`,
    )
    expect(faults).toEqual([])
  })

  test("a filter and a range leave out the others, also of those that come; the link keeps them", async () => {
    const { page, faults } = await open("#/events")
    await rowOf(page, sent - 1).waitFor()
    await press(page, "/", "text:/type = invoice.*", "Enter")
    await page.waitForURL((url) => url.hash.includes("where="))
    const charge = Array.from({ length: 3 }, (_, n) => sent - 1 - n).find((n) => n % 3 === 2)!
    await rowOf(page, charge).waitFor({ state: "detached" })
    await rowOf(page, charge - 1).waitFor()
    const came = [await publish(), await publish(), await publish()]
    for (const n of came.filter((it) => it % 3 !== 2)) await rowOf(page, n).waitFor()
    expect((await offsets(page)).filter((n) => n % 3 === 2)).toEqual([])
    const link = page.url()
    await page.goto("about:blank")
    await page.goto(link)
    await rowOf(page, charge - 1).waitFor()
    expect((await offsets(page)).filter((n) => n % 3 === 2)).toEqual([])
    await page.getByLabel("Filter").fill("/type")
    await press(page, "Enter")
    await page.getByText("Write some text, /type = invoice.*").waitFor()
    await page.goto(`${running.adminUrl}/#/events/log/payments?range=custom&until=${Date.now() - 3_600_000}`)
    await page.getByText("No event yet").waitFor()
    await page.getByLabel("Time range").selectOption("15m")
    await rowOf(page, sent - 1).waitFor()
    expect(faults).toEqual([])
  })

  test("text finds events wherever they have it; a value, header or key of an opened event narrows the filter", async () => {
    const { page, faults } = await open("#/events/log/payments")
    await rowOf(page, sent - 1).waitFor()
    await page.getByLabel("Filter").fill("EVT_4")
    await press(page, "Enter")
    await rowOf(page, sent - 1).waitFor({ state: "detached" })
    await rowOf(page, 40).waitFor()
    expect((await offsets(page)).filter((n) => !`evt_${n}`.includes("evt_4"))).toEqual([])
    await rowOf(page, 49).click()
    const detail = page.getByRole("region", { name: "Event" })
    const type = detail.getByRole("button", { name: `"${TYPES[49 % 3]}"` })
    await type.press("Enter")
    await detail.getByRole("button", { name: "Copy path" }).click()
    expect(await copiedText(page)).toBe("/type")
    await detail.getByRole("button", { name: "Filter by it" }).click()
    await rowOf(page, 48).waitFor({ state: "detached" })
    expect((await offsets(page)).filter((n) => n % 3 !== 49 % 3)).toEqual([])
    expect(await page.getByLabel("Filter").inputValue()).toBe(`EVT_4 && /type = ${TYPES[49 % 3]}`)
    await page.getByLabel("Filter").fill("")
    await rowOf(page, sent - 1).waitFor()
    await detail.getByRole("tab", { name: "Headers" }).click()
    await detail.getByRole("button", { name: "Filter by kind" }).click()
    await page.waitForURL((url) => url.hash.includes("where=header"))
    expect(await page.getByLabel("Filter").inputValue()).toBe(`header:kind = ${TYPES[49 % 3]}`)
    expect(faults).toEqual([])
  })

  test("events by time are above the list; a drag over them leaves those of a shorter time", async () => {
    const { page, faults } = await open("#/events/log/payments")
    await page.getByText("drag to choose").waitFor()
    const plot = page.locator(".curve.bars .u-over")
    const first = await plot.elementHandle()
    const step = page.locator(".curve.bars .curve-legend .clipped")
    const shown = await step.textContent()
    // they are counted again, as parts of a longer time
    await until("the steps are longer", async () => (await step.textContent()) !== shown)
    expect(await first!.evaluate((it) => it.isConnected)).toBe(true)
    const { x, y, width, height } = (await plot.boundingBox())!
    await page.mouse.move(x + 1, y + height / 2)
    await page.mouse.down()
    await page.mouse.move(x + width / 4, y + height / 2, { steps: 4 })
    await page.mouse.up()
    await page.waitForURL((url) => url.hash.includes("range=custom"))
    const bound = new URLSearchParams(new URL(page.url()).hash.split("?")[1]).get("until")
    const counted = await fetch(
      `${running.adminUrl}/api/records/counts?connection=log&topic=payments&until=${bound}`,
    )
    const { counts } = (await counted.json()) as RecordCounts
    const newest = counts.reduce((sum, it) => sum + it, 0) - 1
    expect(newest).toBeGreaterThan(0)
    await rowOf(page, newest).waitFor()
    expect((await offsets(page))[0]).toBe(newest)
    expect(faults).toEqual([])
  })

  test("all topics of a connection are shown at once, live; an opened event keeps them", async () => {
    await publishBulk("burst", 1)
    const { page, faults } = await open("#/events/log/payments")
    await rowOf(page, sent - 1).waitFor()
    await page.getByLabel("Topic", { exact: true }).selectOption({ label: "All topics of log" })
    await page.waitForURL((url) => url.hash === "#/events/log")
    await page.locator('.record[data-topic="burst"]').first().waitFor()
    const n = await publish()
    const row = page.locator(`.record[data-topic="payments"][data-place="0:${n}"]`)
    await row.click()
    await page.getByRole("heading", { name: TYPES[n % TYPES.length]! }).waitFor()
    expect(new URL(page.url()).hash).toBe(`#/events/log/payments/0/${n}?all=true`)
    await press(page, "j")
    await page.waitForURL((url) => url.hash.startsWith("#/events/log/burst/0/"))
    expect(await page.locator('.record[data-topic="burst"]').count()).toBeGreaterThan(0)
    expect(faults).toEqual([])
  })

  test("100,000 events scroll: the document holds some dozens of rows, memory some thousands", async () => {
    await publishBulk("bulk", 100)
    const { page, faults } = await open("#/events/log/bulk")
    await rowOf(page, 100 * ITEMS - 1).waitFor()
    const result = await page.evaluate<Scrolled>(SCROLL_TO_THE_OLDEST)
    expect(result.leap).toBeLessThanOrEqual(4000 / 32)
    expect(result.rows).toBeLessThan(20_100)
    expect(result.most).toBeLessThan(100)
    const median = result.frames[Math.floor(result.frames.length / 2)]!
    console.log(`scrolling 100,000 events: the median frame took ${median.toFixed(1)} ms`)
    await rowOf(page, 0).waitFor()
    // back in one leap: the newest are loaded again
    await page.evaluate("document.querySelector('.virtual-list').scrollTop = 0")
    await rowOf(page, 100 * ITEMS - 1).waitFor()
    expect(faults).toEqual([])
  })

  test("of a thousand that come at once the newest are sent; the others are loaded where someone scrolls to them", async () => {
    await publishBulk("burst", 1)
    const { page, faults } = await open("#/events/log/burst")
    const newest = async (): Promise<number> =>
      Number((await page.locator(".record[data-place]").first().getAttribute("data-place"))!.split(":")[1])
    await page.getByText("live", { exact: true }).waitFor()
    await page.locator(".record[data-place]").first().waitFor()
    const before = await newest()
    const asked: string[] = []
    page.on("request", (it) => asked.push(it.url()))
    await publishBulk("burst", 2)
    await rowOf(page, before + 2 * ITEMS).waitFor()
    // the next batch would replace them
    expect(asked.filter((it) => it.includes("/api/records?"))).toEqual([])
    await until("an event that was not sent is shown", async () => {
      await page.evaluate(`document.querySelector(".virtual-list").scrollTop += 400`)
      return rowOf(page, before + ITEMS).isVisible()
    })
    const shown = await offsets(page)
    expect(shown).toEqual(Array.from({ length: shown.length }, (_, n) => shown[0]! - n))
    expect(faults).toEqual([])
  })

  test("after the service was away the list continues where it broke off, without gaps", async () => {
    const { page } = await open("#/events/log/payments")
    await rowOf(page, sent - 1).waitFor()
    await running.stop()
    await page.getByText("reconnecting", { exact: true }).waitFor()
    running = await startHookline(conf, { folder: folder.path })
    const missed = [await publish(), await publish(), await publish()]
    for (const n of missed) await rowOf(page, n).waitFor()
    const shown = await offsets(page)
    expect(shown).toEqual(Array.from({ length: shown.length }, (_, n) => sent - 1 - n))
  })

  test.each(["light", "dark"] as const)(
    "in 400 px and the %s theme the detail is below the list, and nothing is wider than the window",
    async (theme) => {
      const { page, faults } = await open(`#/events/log/payments/0/${sent - 1}`, { theme, width: 400 })
      await page.getByRole("tab", { name: "JSON" }).waitFor()
      const [list, detail] = await Promise.all(
        [".split-list", ".split-detail"].map((it) => page.locator(it).boundingBox()),
      )
      expect(detail!.y).toBeGreaterThanOrEqual(list!.y + list!.height)
      expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(400)
      expect(await accessibilityFindings(page)).toEqual([])
      expect(faults).toEqual([])
    },
  )

  test.each(["light", "dark"] as const)(
    "in the %s theme all topics, the histogram and the actions of a value fit three widths, and are accessible",
    async (theme) => {
      for (const width of [1440, 768, 390]) {
        const n = sent - 1
        const { page, faults } = await open(`#/events/log/payments/0/${n}?all=true`, { theme, width })
        await page.locator(".curve.bars .u-over").waitFor()
        const detail = page.getByRole("region", { name: "Event" })
        await detail.getByRole("button", { name: `"evt_${n}"` }).click()
        await detail.getByRole("button", { name: "Filter by it" }).waitFor()
        expect(await overflowPx(page)).toBe(0)
        expect(await accessibilityFindings(page)).toEqual([])
        expect(faults).toEqual([])
        await page.context().close()
      }
    },
  )
})
