import { rmSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "../test/support/hookline.ts"
import { bodies } from "./body.ts"
import { hookline, idlePipeline, type StartedHookline } from "./hookline.ts"
import { median } from "./median.ts"
import { timed, times } from "./rounds.ts"
import { headersOf, SECRET } from "./target.ts"

export interface How {
  readonly pipelines: number
  readonly checkout: string
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
}

/** A load that takes half of what a processor has, so that a request waits for what holds the event loop and no other. */
const CONNECTIONS = 4

export async function withMany<T>(
  { pipelines, checkout, seconds }: How,
  use: (it: Watched) => Promise<T>,
): Promise<T> {
  using folder = temporaryFolder()
  const turns = join(folder.path, "turns")
  await using started = await hookline({
    name: "many",
    title: "many",
    log: "embedded",
    idle: pipelines - 1,
    checkout,
    bunFlags: ["--preload", join(import.meta.dir, "turns.ts")],
    env: { BENCH_TURNS: turns },
  }).start(undefined)
  const load = (): ReturnType<StartedHookline["load"]> =>
    started.load({ body: bodies["1.1 KB"], arrivals: { connections: CONNECTIONS }, seconds })
  const during: Watched["during"] = async (work) => {
    const loaded = load()
    await Bun.sleep(500)
    await work()
    const { longest = Number.NaN } = await loaded
    return { requestMs: longest, ...(await turnsOf(work)) }
  }
  const turnsOf: Watched["turns"] = async (work) => {
    process.kill(started.pid, "SIGUSR2")
    await Bun.sleep(50)
    await work()
    process.kill(started.pid, "SIGUSR2")
    while (!(await Bun.file(turns).exists())) await Bun.sleep(10)
    const { ms, cpuMs } = (await Bun.file(turns).json()) as { ms: number; cpuMs: number }
    rmSync(turns)
    return { turnMs: ms, turnCpuMs: cpuMs }
  }
  return await use({ started, during, turns: turnsOf })
}

/** What reloads do, of each kind of change; medians, and the worst of what holds requests. */
export function reloadRows(how: How): Promise<string[][]> {
  return withMany(how, async ({ started, during }) => {
    await during(() => Promise.resolve())
    const first = started.configuration
    const port = Number(new URL(started.url!).port)
    let changes = 0
    const kinds: { readonly [name: string]: () => string } = {
      "no reload": () => "",
      "nothing changed": () => first,
      "one pipeline changed, one added": () => {
        changes++
        return (
          first.replace("topic = idle-7\n", `topic = changed-${changes}\n`) +
          idlePipeline(how.pipelines + changes, port)
        )
      },
      "an option of [service] changed": () => `${first}[service]\ndrain_timeout = ${++changes}s\n`,
      "all pipelines changed": () => {
        changes++
        return first.replaceAll("topic = idle-", `topic = again-${changes}-`)
      },
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
    return rows
  })
}

const worst = (seen: readonly Seen[]): string[] =>
  (["requestMs", "turnMs", "turnCpuMs"] as const).map((what) =>
    Math.max(...seen.map((one) => one[what])).toFixed(0),
  )

/** What scrapes do while no idle pipeline has had an event, and when all have. */
export function metricsRows(how: How): Promise<string[][]> {
  return withMany(how, async ({ started, during }) => {
    const row = async (name: string): Promise<string[]> => {
      console.log(`metrics: ${name}`)
      const took: number[] = []
      let bytes = 0
      const scrape = async (): Promise<void> => {
        const read = async () => (bytes = (await (await fetch(`${started.adminUrl}/metrics`)).bytes()).length)
        took.push(await timed(read))
      }
      const seen = await times(how.rounds, () => during(scrape))
      return [name, (bytes / 1000).toFixed(0), median(took).toFixed(0), ...worst(seen)]
    }
    const rows = [await row("one has had events")]
    await postToEach(started, how.pipelines)
    return [...rows, await row("all have had events")]
  })
}

/** An event for each idle pipeline, a few at a time. */
export async function postToEach({ url }: StartedHookline, pipelines: number): Promise<void> {
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

export async function startRows({ pipelines, checkout, rounds }: How): Promise<string[][]> {
  const row = async (idle: number): Promise<string[]> => {
    const took = await times(rounds, async () => {
      const startedMs = performance.now()
      const target = hookline({ name: "start", title: "start", log: "embedded", idle, checkout })
      await using _ = await target.start(undefined)
      return performance.now() - startedMs
    })
    return [idle === 0 ? "one pipeline" : `${idle + 1} pipelines`, median(took).toFixed(0)]
  }
  return [await row(0), await row(pipelines - 1)]
}
