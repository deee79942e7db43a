/**
 * `npm run bench:watched`: what it costs the service that someone looks at the page, and what the page takes in the browser.
 *
 * Two services get 1,000 events a second each into their embedded logs. Chromium shows those of one live, with 10,000 in its
 * list, then those of the other. Both are measured at the same time, so that whatever else the machine does is in both: a round
 * is the ratio of CPU an event of the watched one to the other, the geometric mean of both turns, and the median of the rounds
 * is judged. What the page loads first is not in it: the tail has run for some seconds.
 *
 * The browser has a CPU for itself, and the services with their load another: on the same ones Chromium takes the caches of
 * any process, whatever it shows. `--seconds N` and `--rounds N` set the length. Exit status 1: beyond a limit.
 */
import { $ } from "bun"
import { openPage, startBrowser } from "../test/support/browser.ts"
import { fillEventList } from "../test/support/event-list.ts"
import { paced } from "../test/support/paced.ts"
import { memoryOf } from "../test/support/renderer.ts"
import { readFlags } from "./flags.ts"
import { hookline, postOne } from "./hookline.ts"
import { median } from "./measure.ts"
import { cpuMicroseconds } from "./process.ts"
import { machine } from "./results.ts"

const PER_SECOND = 1000
const LISTED = 10_000
/** Until what opening the page costs is over. */
const SETTLE_SECONDS = 10
/** What a watched service may cost an event, beside one that nobody watches. */
const CPU_LIMIT = 1.1
const MEMORY_LIMIT_MIB = 200

const { seconds, rounds } = readFlags({ seconds: 20, rounds: 5 })

async function main(): Promise<void> {
  await moveTo(1)
  await using browser = await startBrowser()
  await moveTo(0)
  const target = hookline({ log: "embedded" })
  await using first = await target.start(undefined)
  await using second = await target.start(undefined)
  const services = [first, second] as const
  const load = (forSeconds: number): Promise<number> =>
    paced(services.length * PER_SECOND, forSeconds, (n) => postOne(services[n % services.length]!))
  const cpuOfEach = (): number[] => services.map(({ pid }) => cpuMicroseconds(pid))
  await load(LISTED / PER_SECOND)
  const ratios: number[] = []
  let memory = { heap: 0, ownResident: 0, resident: 0 }
  for (let round = 1; round <= rounds; round++) {
    const turns: { watched: number; alone: number }[] = []
    for (const at of [0, 1] as const) {
      const { page } = await openPage(browser, `${services[at].adminUrl}/#/events/bench/bench`)
      await fillEventList(page, LISTED)
      await load(SETTLE_SECONDS)
      const before = cpuOfEach()
      const events = (await load(seconds)) / services.length
      const each = cpuOfEach().map((us, of) => (us - before[of]!) / events)
      turns.push({ watched: each[at]!, alone: each[1 - at]! })
      memory = await memoryOf(browser, page)
      await page.context().close()
    }
    ratios.push(Math.sqrt(turns.reduce((product, { watched, alone }) => (product * watched) / alone, 1)))
    const both = turns.map(
      ({ watched, alone }) => `${watched.toFixed(0)} µs an event, ${alone.toFixed(0)} unwatched`,
    )
    console.log(
      `round ${round} of ${rounds}: ${both.join("; ")}: ${ratios.at(-1)!.toFixed(3)}; ` +
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
}

/** Has this process run on one CPU from now on, and the processes that it starts then. */
async function moveTo(cpu: number): Promise<void> {
  await $`taskset --all-tasks --cpu-list --pid ${cpu} ${process.pid}`.quiet()
}

await main()
