import { readFileSync } from "node:fs"
import type { Browser, Page } from "playwright-core"

/** What a page takes, in MiB. */
export interface PageMemory {
  /** Objects of its JavaScript, after a collection. */
  readonly heap: number
  /** What is resident of the process that draws it, and of no other process: /proc/PID/smaps_rollup, proc(5). */
  readonly ownResident: number
  /** All that is resident of that process, the program's own pages, which all of Chromium shares, among them. */
  readonly resident: number
}

/** Memory of the only page that a browser has open. */
export async function memoryOf(browser: Browser, page: Page): Promise<PageMemory> {
  const session = await page.context().newCDPSession(page)
  await session.send("HeapProfiler.collectGarbage")
  await session.send("Performance.enable")
  const { metrics } = await session.send("Performance.getMetrics")
  const heap = metrics.find(({ name }) => name === "JSHeapUsedSize")!.value / 2 ** 20
  await session.detach()
  const all = await browser.newBrowserCDPSession()
  const { processInfo } = await all.send("SystemInfo.getProcessInfo")
  await all.detach()
  const renderers = processInfo.filter(({ type }) => type === "renderer")
  const sizes = renderers.map(({ id }) => {
    const text = readFileSync(`/proc/${id}/smaps_rollup`, "latin1")
    const mib = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0) / 1024
    return { resident: mib("Rss"), ownResident: mib("Private_Clean") + mib("Private_Dirty") }
  })
  const largest = sizes.toSorted((a, b) => b.resident - a.resident)[0]!
  return { heap, ...largest }
}
