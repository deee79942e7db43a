import type { Page } from "playwright-core"

const MOST_TABS = 100

/** Presses Tab until what has that label or text has the focus; throws when it never has. */
export async function tabTo(page: Page, name: string): Promise<void> {
  const focused = (): Promise<string> =>
    page.evaluate(() => {
      const element = document.activeElement
      return (element?.getAttribute("aria-label") ?? element?.textContent ?? "").trim()
    })
  for (let n = 0; n < MOST_TABS; n++) {
    if ((await focused()) === name) return
    await page.keyboard.press("Tab")
  }
  throw new Error(`Tab does not lead to ${name}`)
}
