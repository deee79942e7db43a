import { $ } from "bun"
import { bodies, type BodySize } from "./body.ts"
import type { BenchKafka } from "./kafka.ts"
import type { Arrivals } from "./traffic.ts"
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
  await using turn = target.onKafka ? await kafka!.turn(target.partitions) : undefined
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

/** Measures a target under each case in turn. @throws Error as a run does */
export function measure(
  target: Target,
  cases: readonly Case[],
  { seconds, kafka }: { seconds: number; kafka: BenchKafka | undefined },
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

/** A target that answers a smaller part of an open loop's requests in time is not asked for more. */
const KEEPS_UP = 0.95
