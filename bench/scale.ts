import { rmSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "../test/support/hookline.ts"
import { freePort } from "../test/support/ports.ts"
import { bodies } from "./body.ts"
import { hookline, idlePipeline, PROGRAM, type StartedHookline } from "./hookline.ts"
import { median, medianSample, timed, times } from "./measure.ts"
import { cpuMicroseconds, residentMiB } from "./process.ts"
import { markdownTable } from "./table.ts"
import { headersOf, SECRET } from "./target.ts"

export interface Scale {
  readonly pipelines: number
  readonly seconds: number
  readonly rounds: number
}

interface Seen {
  readonly requestMs: number
  readonly turnMs: number
  readonly turnCpuMs: number
}

/** A Hookline of many pipelines on the embedded log, and what is seen of its event loop. */
interface Watched {
  readonly started: StartedHookline
  /** The longest request, under load, and the longest turn of the event loop, without load, while something is done. */
  during(work: () => Promise<unknown>): Promise<Seen>
  /** The longest turn of the event loop, without load. */
  turns(work: () => Promise<unknown>): Promise<Pick<Seen, "turnMs" | "turnCpuMs">>
  /** Reads the metrics. @returns how many bytes they are */
  scrape(): Promise<number>
}

/** A load that takes half of what a processor has, so that a request waits for what holds the event loop and no other. */
const CONNECTIONS = 4

async function withMany<T>({ pipelines, seconds }: Scale, use: (it: Watched) => Promise<T>): Promise<T> {
  using folder = temporaryFolder()
  const file = join(folder.path, "turns")
  await using started = await hookline({
    log: "embedded",
    idle: pipelines - 1,
    bunFlags: ["--preload", join(import.meta.dir, "turns.ts")],
    env: { BENCH_TURNS: file },
  }).start(undefined)
  const turns: Watched["turns"] = async (work) => {
    process.kill(started.pid, "SIGUSR2")
    await Bun.sleep(50)
    await work()
    process.kill(started.pid, "SIGUSR2")
    while (!(await Bun.file(file).exists())) await Bun.sleep(10)
    const { ms, cpuMs } = (await Bun.file(file).json()) as { ms: number; cpuMs: number }
    rmSync(file)
    return { turnMs: ms, turnCpuMs: cpuMs }
  }
  return await use({
    started,
    turns,
    async during(work) {
      const load = { body: bodies["1.1 KB"], arrivals: { connections: CONNECTIONS }, seconds }
      const loaded = started.load(load)
      await Bun.sleep(500)
      await work()
      const { longest = Number.NaN } = await loaded
      return { requestMs: longest, ...(await turns(work)) }
    },
    scrape: async () => (await (await fetch(`${started.adminUrl}/metrics`)).bytes()).length,
  })
}

/** The head of a table whose rows end with the worst of what was seen. */
const headOf = (what: string, { pipelines }: Scale, ...more: readonly string[]): string[] => [
  `${what} of ${pipelines.toLocaleString("en")} pipelines`,
  ...more,
  "took ms",
  "longest request ms",
  "longest turn ms",
  "of CPU ms",
]

const worst = (seen: readonly Seen[]): string[] =>
  (["requestMs", "turnMs", "turnCpuMs"] as const).map((what) =>
    Math.max(...seen.map((one) => one[what])).toFixed(0),
  )

/** What reloads do, of each kind of change; medians, and the worst of what holds requests. */
export const measureReloads = (how: Scale): Promise<string> =>
  withMany(how, async ({ started, during }) => {
    await during(() => Promise.resolve())
    const first = started.configuration
    const port = Number(new URL(started.url!).port)
    let changes = 0
    const kinds: { readonly [name: string]: () => string } = {
      "no reload": () => "",
      "nothing changed": () => first,
      "one pipeline changed, one added": () =>
        first.replace("topic = idle-7\n", `topic = changed-${++changes}\n`) +
        idlePipeline(how.pipelines + changes, port),
      "an option of [service] changed": () => `${first}[service]\ndrain_timeout = ${++changes}s\n`,
      "all pipelines changed": () => first.replaceAll("topic = idle-", `topic = again-${++changes}-`),
    }
    const rows: string[][] = []
    for (const [kind, next] of Object.entries(kinds)) {
      console.log(`reload: ${kind}`)
      const took: number[] = []
      const seen = await times(how.rounds, async () => {
        const one = await during(async () => {
          const text = next()
          if (text !== "") took.push(await timed(() => started.reload(text)))
        })
        await started.reload(first)
        return one
      })
      rows.push([kind, took.length === 0 ? "" : median(took).toFixed(0), ...worst(seen)])
    }
    return markdownTable(headOf("reload", how), rows)
  })

/** What scrapes do while no idle pipeline has had an event, and when all have. */
export const measureScrapes = (how: Scale): Promise<string> =>
  withMany(how, async ({ started, during, scrape }) => {
    const row = async (name: string): Promise<string[]> => {
      console.log(`metrics: ${name}`)
      const took: number[] = []
      let bytes = 0
      const seen = await times(how.rounds, () =>
        during(async () => took.push(await timed(async () => (bytes = await scrape())))),
      )
      return [name, (bytes / 1000).toFixed(0), median(took).toFixed(0), ...worst(seen)]
    }
    const rows = [await row("one has had events")]
    await postToEach(started, how.pipelines)
    rows.push(await row("all have had events"))
    return markdownTable(headOf("/metrics", how, "KB"), rows)
  })

/** From the start of the process to the first event that is accepted. */
export async function measureStarts({ pipelines, rounds }: Scale): Promise<string> {
  const row = async (count: number): Promise<string[]> => {
    const target = hookline({ log: "embedded", idle: count - 1 })
    const took = await times(rounds, async () => {
      const startedMs = performance.now()
      await using _ = await target.start(undefined)
      return performance.now() - startedMs
    })
    return [count.toLocaleString("en"), median(took).toFixed(0)]
  }
  return markdownTable(["start of pipelines", "ms to the first event"], [await row(1), await row(pipelines)])
}

/** An event for each idle pipeline, a few at a time. */
async function postToEach({ url }: StartedHookline, pipelines: number): Promise<void> {
  const headers = await headersOf("{}", SECRET)
  const { origin } = new URL(url!)
  let next = 0
  const post = async (): Promise<void> => {
    for (let at = next++; at < pipelines - 1; at = next++) {
      const { ok, status } = await fetch(`${origin}/idle/${at}`, { method: "POST", body: "{}", headers })
      if (ok) continue
      // ends the others, too
      next = pipelines
      throw new Error(`an idle pipeline answered ${status}`)
    }
  }
  await Promise.all(Array.from({ length: 16 }, post))
}

/** What a number of pipelines costs, each with a Verifier, a path and a topic of its own on the embedded log. */
export interface SizeSample {
  /** Resident: at rest, and once each pipeline has had an event; NaN, null in a file: not measured. */
  readonly restMiB: number
  readonly usedMiB: number
  /** Milliseconds of the processor, all threads: of the start, of `check`, of a reload that adds one pipeline. */
  readonly startCpuMs: number
  readonly checkCpuMs: number
  readonly reloadCpuMs: number
  /** The longest turn of the event loop in that reload, and in a scrape, in milliseconds of the processor. */
  readonly reloadTurnMs: number
  readonly scrapeTurnMs: number
  readonly metricsMB: number
}

/** By the number of pipelines. */
export interface Sizes {
  readonly [pipelines: string]: SizeSample
}

export async function measureSizes(sizes: readonly number[], how: Omit<Scale, "pipelines">): Promise<Sizes> {
  const found: { [pipelines: string]: SizeSample } = {}
  for (const pipelines of sizes) {
    console.log(`sizes: ${pipelines.toLocaleString("en")}`)
    found[pipelines] = medianSample(await times(how.rounds, () => sizeSample({ ...how, pipelines })))
  }
  return found
}

/** Memory is stable after that. */
const SETTLED_MS = 8000

const sizeSample = (how: Scale): Promise<SizeSample> =>
  withMany(how, async ({ started, turns, scrape }) => {
    const { pid, configuration } = started
    const startCpuMs = cpuMicroseconds(pid) / 1000
    await Bun.sleep(SETTLED_MS)
    const restMiB = residentMiB(pid)
    const port = Number(new URL(started.url!).port)
    let added = how.pipelines
    const addOne = (): Promise<void> =>
      started.reload(configuration + idlePipeline(added, port, `added-${added++}`))
    // the first reload also compiles the code
    await addOne()
    const beforeUs = cpuMicroseconds(pid)
    await addOne()
    const reloadCpuMs = (cpuMicroseconds(pid) - beforeUs) / 1000
    const { turnCpuMs: reloadTurnMs } = await turns(addOne)
    await scrape()
    const { turnCpuMs: scrapeTurnMs } = await turns(scrape)
    const usedMiB = await afterOneEach(started, how.pipelines)
    const metricsMB = (await scrape()) / 1e6
    const checked = configuration.replaceAll(`port = ${port}\n`, `port = ${await freePort()}\n`)
    const checkCpuMs = await check(checked)
    return {
      restMiB,
      usedMiB,
      startCpuMs,
      checkCpuMs,
      reloadCpuMs,
      reloadTurnMs,
      scrapeTurnMs,
      metricsMB,
    }
  })

/** Memory once each pipeline has had an event; NaN: the log has not made all their topics yet, and answers 503. */
async function afterOneEach(started: StartedHookline, pipelines: number): Promise<number> {
  try {
    await postToEach(started, pipelines)
  } catch {
    return Number.NaN
  }
  await Bun.sleep(SETTLED_MS)
  return residentMiB(started.pid)
}

/** Milliseconds of the processor that `check` takes. */
async function check(configuration: string): Promise<number> {
  using folder = temporaryFolder()
  await Bun.write(join(folder.path, "pipelines.conf"), `${configuration}[admin]\nlisten = off\n`)
  const child = Bun.spawn([process.execPath, PROGRAM, "check"], {
    cwd: folder.path,
    stdio: ["ignore", "ignore", "ignore"],
  })
  if ((await child.exited) !== 0) throw new Error(`check ended with status ${child.exitCode}`)
  return Number(child.resourceUsage()!.cpuTime.total) / 1000
}
