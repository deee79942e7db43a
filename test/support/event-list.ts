import type { Page } from "playwright-core"

const ROW_HEIGHT = 32

/** Has the page's list of events load that many, by scrolling, and goes back to the newest. */
export async function fillEventList(page: Page, events: number): Promise<void> {
  await page.locator(".record[data-place]").first().waitFor()
  await page.evaluate(`(async () => {
    const list = document.querySelector(".virtual-list")
    while (list.scrollHeight < ${events * ROW_HEIGHT}) {
      list.scrollTop = list.scrollHeight
      await new Promise(requestAnimationFrame)
    }
    list.scrollTop = 0
  })()`)
}
