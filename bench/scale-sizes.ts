import { join } from "node:path"
import { temporaryFolder } from "../test/support/hookline.ts"
import { freePort } from "../test/support/ports.ts"
import { idlePipeline, type StartedHookline } from "./hookline.ts"
import { medianSample } from "./median.ts"
import { cpuMicroseconds, residentMiB } from "./process.ts"
import { times } from "./rounds.ts"
import { postToEach, withMany, type How } from "./scale-loop.ts"

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

/** Memory is stable after that. */
const SETTLED_MS = 8000

export async function measureSizes(sizes: readonly number[], how: Omit<How, "pipelines">): Promise<Sizes> {
  const found: { [pipelines: string]: SizeSample } = {}
  for (const pipelines of sizes) {
    console.log(`sizes: ${pipelines.toLocaleString("en")}`)
    found[pipelines] = medianSample(await times(how.rounds, () => sample({ ...how, pipelines })))
  }
  return found
}

const sample = (how: How): Promise<SizeSample> =>
  withMany(how, async ({ started, turns }) => {
    const { pid, configuration, adminUrl } = started
    const cpuMs = async (work: () => Promise<unknown>): Promise<number> => {
      const before = cpuMicroseconds(pid)
      await work()
      return (cpuMicroseconds(pid) - before) / 1000
    }
    const startCpuMs = cpuMicroseconds(pid) / 1000
    await Bun.sleep(SETTLED_MS)
    const restMiB = residentMiB(pid)
    const port = Number(new URL(started.url!).port)
    let added = how.pipelines
    const addOne = (): Promise<void> =>
      started.reload(configuration + idlePipeline(added, port, `added-${added++}`))
    // the first reload also compiles the code
    await addOne()
    const reloadCpuMs = await cpuMs(addOne)
    const { turnCpuMs: reloadTurnMs } = await turns(addOne)
    let bytes = 0
    const scrape = async (): Promise<void> =>
      void (bytes = (await (await fetch(`${adminUrl}/metrics`)).bytes()).length)
    await scrape()
    const { turnCpuMs: scrapeTurnMs } = await turns(scrape)
    const usedMiB = await afterOneEach(started, how.pipelines)
    await scrape()
    return {
      restMiB,
      usedMiB,
      startCpuMs,
      checkCpuMs: await check(
        configuration.replaceAll(`port = ${port}\n`, `port = ${await freePort()}\n`),
        how,
      ),
      reloadCpuMs,
      reloadTurnMs,
      scrapeTurnMs,
      metricsMB: bytes / 1e6,
    }
  })

/** Memory once each pipeline has had an event; NaN: the log has not made all their topics yet, and answers 503. */
async function afterOneEach(started: StartedHookline, pipelines: number): Promise<number> {
  const isWhole = await postToEach(started, pipelines).then(
    () => true,
    () => false,
  )
  if (!isWhole) return Number.NaN
  await Bun.sleep(SETTLED_MS)
  return residentMiB(started.pid)
}

async function check(configuration: string, { checkout }: How): Promise<number> {
  using folder = temporaryFolder()
  await Bun.write(join(folder.path, "pipelines.conf"), `${configuration}[admin]\nlisten = off\n`)
  const child = Bun.spawn([process.execPath, join(checkout, "src/cli.ts"), "check"], {
    cwd: folder.path,
    stdio: ["ignore", "ignore", "ignore"],
  })
  if ((await child.exited) !== 0) throw new Error(`check ended with status ${child.exitCode}`)
  return Number(child.resourceUsage()!.cpuTime.total) / 1000
}
