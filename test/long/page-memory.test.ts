import { expect, test } from "bun:test"
import { hasBrowser, openPage, startBrowser } from "../support/browser.ts"
import { fillEventList } from "../support/event-list.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { paced } from "../support/paced.ts"
import { memoryOf } from "../support/renderer.ts"

const CONFIGURATION = `
[connection:log]
directory = log
[pipeline:bulk:WebHookSource]
[pipeline:bulk:Decoder]
lists = split
[pipeline:bulk:BrokerSink]
topic = bulk
`
/** Items of a list: 1,000 events a second are five lists. */
const ITEMS = 200
const LISTS_PER_SECOND = 5
const LISTED = 10_000
const SECONDS = 60
const MAX_MIB = 200

test.skipIf(!hasBrowser())(
  "with 10,000 events in its list and 1,000 new ones a second for a minute the page stays under 200 MiB",
  async () => {
    using folder = temporaryFolder()
    await using running = await startHookline(CONFIGURATION, { folder: folder.path })
    const items = Array.from({ length: ITEMS }, (_, n) => ({ n, type: "bulk.item", note: "x".repeat(1000) }))
    const body = JSON.stringify(items)
    const post = async (): Promise<void> => {
      const { status } = await fetch(running.urls["bulk"]!, { method: "POST", body })
      expect(status).toBe(200)
    }
    for (let sent = 0; sent < LISTED; sent += ITEMS) await post()
    const browser = await startBrowser()
    try {
      const { page, faults } = await openPage(browser, `${running.adminUrl}/#/events/log/bulk`)
      await fillEventList(page, LISTED)
      await paced(LISTS_PER_SECOND, SECONDS, post)
      const newest = LISTED + SECONDS * LISTS_PER_SECOND * ITEMS - 1
      await page.locator(`.record[data-place="0:${newest}"]`).waitFor()
      const { resident, heap } = await memoryOf(browser, page)
      expect(resident).toBeLessThan(MAX_MIB)
      expect(heap).toBeLessThan(MAX_MIB / 4)
      expect(faults).toEqual([])
    } finally {
      await browser.close()
    }
  },
)
