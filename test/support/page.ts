import type { Page } from "playwright-core"

const MOST_TABS = 100
const FOCUSED_NAME = "(document.activeElement.ariaLabel ?? document.activeElement.textContent).trim()"

/** Presses Tab until what has that label or text has the focus. @throws where it never has */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let n = 0; n < MOST_TABS; n++) {
    if ((await page.evaluate<string>(FOCUSED_NAME)) === name) return
    await page.keyboard.press("Tab")
  }
  throw new Error(`Tab does not lead to ${name}`)
}

export const copiedText = (page: Page): Promise<string> =>
  page.evaluate<string>("navigator.clipboard.readText()")

/** By how much the page is wider than its window. */
export const overflowPx = (page: Page): Promise<number> =>
  page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth")
