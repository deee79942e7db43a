import { $ } from "bun"
import { bodies, type BodySize } from "./body.ts"
import type { BenchKafka } from "./kafka.ts"
import type { Arrivals } from "./load.ts"
import { cpuMicroseconds, peakMiB, forgetPeak } from "./process.ts"
import type { Started, Target } from "./target.ts"

/** One way of putting load on a target. */
export interface Case {
  /** What the data and the tables call it. */
  readonly name: string
  readonly arrivals: Arrivals
  readonly body: BodySize
}

/** What a target did under one case. Latencies in milliseconds. */
export interface Sample {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  /** CPU of the whole process tree, in microseconds. */
  readonly cpuPerEvent: number
  /** CPU of the Kafka broker, in microseconds; 0 for a target without it. */
  readonly brokerCpuPerEvent: number
  /** The most that was resident during the case, in MiB. */
  readonly peak: number
}

/** By target, then by case, a sample a round. A case that a target was not asked for, or did not keep up before, has none. */
export interface Samples {
  readonly [target: string]: { readonly [name: string]: readonly Sample[] }
}

export interface How {
  readonly rounds: number
  readonly seconds: number
  readonly kafka: BenchKafka | undefined
}

/**
 * Measures targets under each case, in turn, round after round, so that what the machine does meanwhile falls on all of them.
 * An uncounted round of a target on Kafka comes first: in its first minute the broker compiles its code, at the expense of
 * whichever target is measured first.
 * Says which is measured, and about how long the rest takes. When one fails the others' figures stand, and the exit status
 * is 1.
 */
export async function measureInTurn(
  targets: readonly Target[],
  cases: readonly Case[],
  how: How,
): Promise<Samples> {
  const samples: { [target: string]: { [name: string]: Sample[] } } = {}
  const startMs = performance.now()
  const ofRound = (round: number) => targets.map((target) => ({ target, round }))
  const warmUp = ofRound(0).filter(({ target }) => target.onKafka)
  const counted = Array.from({ length: how.rounds }, (_, at) => ofRound(at + 1))
  const turns = [...warmUp.slice(0, 1), ...counted.flat()]
  for (const [done, { target, round }] of turns.entries()) {
    const leftMs = ((performance.now() - startMs) / done) * (turns.length - done)
    const left = done === 0 ? "" : `, about ${Math.ceil(leftMs / 60_000)} min left`
    const what = round === 0 ? "warming the broker up" : `round ${round} of ${how.rounds}`
    console.log(`${what}${left}: ${target.title}`)
    try {
      const measured = await measure(target, cases, how)
      if (round === 0) continue
      for (const [load, sample] of measured) ((samples[target.name] ??= {})[load] ??= []).push(sample)
    } catch (error) {
      console.log(`FAILED: ${target.title}: ${(error as Error).message}`)
      process.exitCode = 1
    }
  }
  return samples
}

/** A target that answers a smaller part of an open loop's requests in time is not asked for more. */
export const KEEPS_UP = 0.95

/** Measures a target under each case in turn. @throws Error as a run does */
function measure(
  target: Target,
  cases: readonly Case[],
  { seconds, kafka }: How,
): Promise<Map<string, Sample>> {
  return withTarget(target, kafka, async (started, run) => {
    const samples = new Map<string, Sample>()
    for (const [index, load] of cases.entries()) {
      const { name, arrivals, body } = load
      // Compiled code and grown buffers are what runs in production: a first load is not counted.
      const warmUp = index === 0 ? 2 : body === cases[index - 1]!.body ? 0 : 1
      if (warmUp > 0) await started.load({ body: bodies[body], arrivals, seconds: warmUp })
      const { requests: _, ...sample } = await run(load, seconds)
      samples.set(name, sample)
      if ("rate" in arrivals && sample.perSecond < KEEPS_UP * arrivals.rate) break
    }
    return samples
  })
}

/** Puts a load on a target. @throws Error when fewer records reached the topic than requests were answered */
type Run = (load: Case, seconds: number) => Promise<Sample & { readonly requests: number }>

/** Starts a target, gives it a turn of the broker where it needs one, and ends both. */
export async function withTarget<T>(
  target: Target,
  kafka: BenchKafka | undefined,
  use: (started: Started, run: Run) => Promise<T>,
): Promise<T> {
  // What the target before left for the kernel to write would be written during this one's fsyncs.
  await $`sync`
  await using turn = target.onKafka ? await kafka!.turn(target) : undefined
  await using started = await target.start(turn)
  const used = async (): Promise<[own: number, brokers: number, records: number]> => [
    cpuMicroseconds(started.pid),
    turn === undefined ? 0 : cpuMicroseconds(kafka!.pid),
    (await turn?.records()) ?? 0,
  ]
  const run: Run = async ({ arrivals, body }, seconds) => {
    forgetPeak(started.pid)
    const before = await used()
    const { requests, ...load } = await started.load({ body: bodies[body], arrivals, seconds })
    if (requests === 0) throw new Error(`no request was answered in ${seconds} s`)
    const [own, brokers, records] = (await used()).map((now, i) => now - before[i]!) as typeof before
    if (turn !== undefined && target.waitsForAcknowledgement !== false && records < requests)
      throw new Error(`${target.title} answered ${requests} requests, and ${records} are in the topic`)
    const { p50, p99, p999 } = load
    const [cpuPerEvent, brokerCpuPerEvent] = [own / requests, brokers / requests]
    const perSecond = requests / load.seconds
    return { requests, perSecond, p50, p99, p999, cpuPerEvent, brokerCpuPerEvent, peak: peakMiB(started.pid) }
  }
  return await use(started, run)
}

/** Runs something so many times, one after the other. */
export async function times<T>(count: number, run: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  while (results.length < count) results.push(await run())
  return results
}

/** How many milliseconds something takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The median of each figure by itself. */
export function medianSample<T extends { readonly [K in keyof T]: number }>(samples: readonly T[]): T {
  const figures = Object.keys(samples[0]!) as (keyof T & string)[]
  return Object.fromEntries(figures.map((key) => [key, median(samples.map((one) => one[key]))])) as never
}

/** A figure of one target beside that of another in the same round. */
export const ratios = (
  ours: readonly Sample[],
  theirs: readonly Sample[],
  figure: (sample: Sample) => number,
): number[] => ours.map((sample, round) => figure(sample) / figure(theirs[round] ?? theirs.at(-1)!))
