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

/** Starts a target, gives it a turn of the broker where it needs one, and ends both. */
export async function withTarget<T>(
  target: Target,
  kafka: BenchKafka | undefined,
  use: (started: Started, records: () => Promise<number>) => Promise<T>,
): Promise<T> {
  // What the target before left for the kernel to write would be written during this one's fsyncs.
  await $`sync`
  await using turn = target.onKafka ? await kafka!.turn(target.partitions) : undefined
  const started = await target.start(turn)
  try {
    return await use(started, turn?.records ?? (() => Promise.resolve(Number.POSITIVE_INFINITY)))
  } finally {
    await started.stop()
  }
}

/**
 * Measures a target under each case in turn.
 *
 * @throws Error when fewer records reached the topic than requests were answered
 */
export function measure(
  target: Target,
  cases: readonly Case[],
  { seconds, kafka }: { seconds: number; kafka: BenchKafka | undefined },
): Promise<Map<string, Sample>> {
  return withTarget(target, kafka, async (started, records) => {
    const samples = new Map<string, Sample>()
    for (const [index, one] of cases.entries()) {
      const { name, arrivals } = one
      const body = bodies[one.body]
      // Compiled code and grown buffers are what runs in production: a first load is not counted.
      const warmUp = index === 0 ? 2 : one.body === cases[index - 1]!.body ? 0 : 1
      if (warmUp > 0) await started.load({ body, arrivals, seconds: warmUp })
      forgetPeak(started.pid)
      const recordsBefore = await records()
      const before = cpuMicroseconds(started.pid)
      const brokerBefore = target.onKafka ? cpuMicroseconds(kafka!.pid) : 0
      const load = await started.load({ body, arrivals, seconds })
      if (load.requests === 0) throw new Error(`no request was answered in ${seconds} s`)
      const used = cpuMicroseconds(started.pid) - before
      const brokerUsed = target.onKafka ? cpuMicroseconds(kafka!.pid) - brokerBefore : 0
      const published = (await records()) - recordsBefore
      if (target.waitsForAcknowledgement !== false && published < load.requests) {
        throw new Error(
          `${target.title} answered ${load.requests} requests, and ${published} are in the topic`,
        )
      }
      samples.set(name, {
        perSecond: load.requests / load.seconds,
        p50: load.p50,
        p99: load.p99,
        p999: load.p999,
        cpuPerEvent: used / load.requests,
        brokerCpuPerEvent: brokerUsed / load.requests,
        peak: peakMiB(started.pid),
      })
      if ("rate" in arrivals && load.requests / load.seconds < KEEPS_UP * arrivals.rate) break
    }
    return samples
  })
}

/** A target that answers a smaller part of an open loop's requests in time is not asked for more. */
const KEEPS_UP = 0.95
