/**
 * `npm run bench:watched`: what it costs the service that someone looks at the page, and what the page takes in the browser.
 *
 * Events come at 1,000 a second into the embedded log. Nobody looks, then Chromium shows them live with 10,000 in its list,
 * then nobody looks again, and so on: a round is the ratio of the service's CPU an event watched to the mean of before and
 * after it, and the median of the rounds is judged. What the page loads first is not in it: the tail has run for some seconds.
 *
 * The browser has one CPU for itself, and the service with its load another, watched or not. On the same two CPUs Chromium
 * costs any process a few percent, whatever it shows: it takes their caches. `--shared` measures with that. `--seconds N` and
 * `--rounds N` set the length. Exit status 1: beyond a limit.
 */
import { cpus } from "node:os"
import { parseArgs } from "node:util"
import { openPage, startBrowser } from "../test/support/browser.ts"
import { fillEventList } from "../test/support/event-list.ts"
import { paced } from "../test/support/paced.ts"
import { memoryOf } from "../test/support/renderer.ts"
import { stripeShaped } from "./body.ts"
import { hookline } from "./hookline.ts"
import { machine } from "./machine.ts"
import { median } from "./median.ts"
import { cpuMicroseconds } from "./process.ts"

const PER_SECOND = 1000
const LISTED = 10_000
/** Until what opening the page costs is over. */
const SETTLE_SECONDS = 5
/** What a watched service may cost an event, beside one that nobody watches. */
const CPU_LIMIT = 1.05
const MEMORY_LIMIT_MIB = 200

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "20" },
    rounds: { type: "string", default: "5" },
    shared: { type: "boolean", default: false },
  },
})

async function main(): Promise<void> {
  const seconds = Number(flags.seconds)
  const rounds = Number(flags.rounds)
  moveTo(1)
  const browser = await startBrowser()
  moveTo(0)
  const target = hookline({ name: "watched", title: "Hookline", log: "embedded" })
  const service = await target.start(undefined)
  try {
    const post = async (): Promise<void> => {
      const { ok } = await fetch(service.url!, { method: "POST", body: stripeShaped })
      if (!ok) throw new Error("an event was not accepted")
    }
    const cpuPerEvent = async (): Promise<number> => {
      await paced(PER_SECOND, SETTLE_SECONDS, post)
      const before = cpuMicroseconds(service.pid)
      const events = await paced(PER_SECOND, seconds, post)
      return (cpuMicroseconds(service.pid) - before) / events
    }
    await paced(PER_SECOND, LISTED / PER_SECOND, post)
    const ratios: number[] = []
    let memory = { heap: 0, ownResident: 0, resident: 0 }
    let before = await cpuPerEvent()
    for (let round = 1; round <= rounds; round++) {
      const { page } = await openPage(browser, `${service.adminUrl}/#/events/bench/bench`)
      await fillEventList(page, LISTED)
      const watched = await cpuPerEvent()
      memory = await memoryOf(browser, page)
      await page.context().close()
      const after = await cpuPerEvent()
      ratios.push((2 * watched) / (before + after))
      console.log(
        `round ${round} of ${rounds}: ${before.toFixed(0)} µs an event, ${watched.toFixed(0)} µs watched, ${after.toFixed(0)} µs after; ` +
          `the page: ${memory.heap.toFixed(0)} MiB of objects, ${memory.ownResident.toFixed(0)} MiB of its own resident, ${memory.resident.toFixed(0)} MiB in all`,
      )
      before = after
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

/** Has this process run on one CPU from now on, and the processes that it starts then. */
function moveTo(cpu: number): void {
  if (flags.shared) return
  if (cpus().length < 2) throw new Error("the browser needs a CPU of its own: use --shared")
  const args = ["taskset", "--all-tasks", "--cpu-list", "--pid", String(cpu), String(process.pid)]
  const { success, stderr } = Bun.spawnSync(args)
  if (!success) throw new Error(`taskset failed: ${stderr.toString()}`)
}

await main()
