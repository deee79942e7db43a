/**
 * `npm run bench:watched`: what it costs the service that someone looks at the page, and what the page takes in the browser.
 *
 * Events come at 1,000 a second into the embedded log; in turns nobody looks, and Chromium shows them live, with 10,000 in
 * its list. Each round gives a ratio of the service's CPU an event; their median is judged. `--seconds N` and `--rounds N`
 * set the length. Exit status 1: beyond a limit.
 */
import { parseArgs } from "node:util"
import type { Page } from "playwright-core"
import { openPage, startBrowser } from "../test/support/browser.ts"
import { paced } from "../test/support/paced.ts"
import { memoryOf } from "../test/support/renderer.ts"
import { stripeShaped } from "./body.ts"
import { hookline } from "./hookline.ts"
import { machine } from "./machine.ts"
import { median } from "./median.ts"
import { cpuMicroseconds } from "./process.ts"

const PER_SECOND = 1000
const LISTED = 10_000
/** What a watched service may cost an event, beside one that nobody watches. */
const CPU_LIMIT = 1.05
const MEMORY_LIMIT_MIB = 200

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "20" },
    rounds: { type: "string", default: "5" },
  },
})

async function main(): Promise<void> {
  const seconds = Number(flags.seconds)
  const rounds = Number(flags.rounds)
  const target = hookline({ name: "watched", title: "Hookline", log: "embedded" })
  const service = await target.start(undefined)
  const browser = await startBrowser()
  try {
    const post = async (): Promise<void> => {
      const { ok } = await fetch(service.url!, { method: "POST", body: stripeShaped })
      if (!ok) throw new Error("an event was not accepted")
    }
    const cpuPerEvent = async (): Promise<number> => {
      const before = cpuMicroseconds(service.pid)
      const events = await paced(PER_SECOND, seconds, post)
      return (cpuMicroseconds(service.pid) - before) / events
    }
    await paced(PER_SECOND, LISTED / PER_SECOND, post)
    const ratios: number[] = []
    let memory = { heap: 0, ownResident: 0, resident: 0 }
    for (let round = 1; round <= rounds; round++) {
      const alone = await cpuPerEvent()
      const { page } = await openPage(browser, `${service.adminUrl}/#/events/bench/bench`)
      await scrollThrough(page)
      const watched = await cpuPerEvent()
      memory = await memoryOf(browser, page)
      await page.context().close()
      ratios.push(watched / alone)
      console.log(
        `round ${round} of ${rounds}: ${alone.toFixed(0)} µs an event, ${watched.toFixed(0)} µs watched; ` +
          `the page: ${memory.heap.toFixed(0)} MiB of objects, ${memory.ownResident.toFixed(0)} MiB of its own resident, ${memory.resident.toFixed(0)} MiB in all`,
      )
    }
    const ratio = median(ratios)
    console.log(
      `\n${machine()}, ${PER_SECOND} events a second, medians of ${rounds} rounds of ${seconds} s\n\n` +
        `CPU an event, watched: ${ratio.toFixed(3)} of what it is unwatched (${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)}), at most ${CPU_LIMIT}\n` +
        `memory of the page: ${memory.resident.toFixed(0)} MiB resident, at most ${MEMORY_LIMIT_MIB}`,
    )
    if (ratio > CPU_LIMIT || memory.resident > MEMORY_LIMIT_MIB) process.exitCode = 1
  } finally {
    await browser.close()
    await service.stop()
  }
}

/** Has the page load so many events, and goes back to the newest. */
async function scrollThrough(page: Page): Promise<void> {
  await page.locator(".record[data-place]").first().waitFor()
  await page.evaluate(`(async () => {
    const list = document.querySelector(".virtual-list")
    while (list.scrollHeight < ${LISTED} * 32) {
      list.scrollTop = list.scrollHeight
      await new Promise(requestAnimationFrame)
    }
    list.scrollTop = 0
  })()`)
}

await main()
