import { AT_THE_END, Trial } from "./trial.ts"
import { steadyMs } from "../../../src/clock/clock.ts"
import { PublishError } from "../../../src/errors.ts"
import { openEmbedded, type EmbeddedBroker } from "../../../src/brokers/embedded/broker.ts"
import type { Outcome, Simulation } from "../simulation.ts"
import { DamagedLogs } from "./damaged-log.ts"
import { Publications, type Retention } from "./publications.ts"
import { simulatedLog } from "./log.ts"
import { scenarioOf, TOPICS, type StorageScenario } from "./scenario.ts"
import { readLog } from "./stored-records.ts"

/** Rounds of retention, and what makes them wait. */
const LATE_MS = 1000

/** Senders publish to an embedded log, whose disk, neighbours and processes fail. */
function run(scenario: StorageScenario): Outcome {
  const trial = new Trial<EmbeddedBroker>(scenario, ({ world }) => ({
    open({ disk: { folder } }) {
      const log = simulatedLog(world, folder)
      const { partitions, retentionMs, retentionBytes } = scenario.settings
      const kept = {
        ...(retentionMs !== undefined && { retention: retentionMs }),
        ...(retentionBytes !== undefined && { retention_bytes: retentionBytes }),
      }
      const broker = openEmbedded(
        { directory: folder, partitions, ...kept },
        { log, metrics: { batch() {} } },
      )
      broker.prepare(TOPICS)
      return broker
    },
    ready: (broker) => broker.ready(),
    close: (broker) => broker.close(),
    publish: (step) => publish(step),
    tryOut: (succeeded, done) =>
      publish({ topic: TOPICS[0]!, key: -1, bytes: 10, timeoutMs: 1000 }, succeeded, done),
    filesTaken: () => publications.filesTaken(),
    check(folder, when, sector) {
      const stored = readLog(folder)
      publications.checkLog(stored, when, retentionOf(when))
      if (sector !== undefined && stored.length > 0) damagedLogs.check(folder, stored, sector, when)
    },
  }))
  const { world } = trial
  const publications = new Publications(world)
  const damagedLogs = new DamagedLogs(world)

  const { retentionMs: ms, retentionBytes: bytes } = scenario.settings
  const retentionOf = (when: string): Retention | undefined => {
    if (ms === undefined && bytes === undefined) return undefined
    // before, it may be closed; the time that a machine was off does not count
    const isExact = when === AT_THE_END && trial.machine.clocks.restarts === 0
    return { ms, bytes, lateMs: isExact ? LATE_MS : Number.POSITIVE_INFINITY }
  }

  const publish = (
    { topic, key, bytes, timeoutMs }: { topic: string; key: number; bytes: number; timeoutMs: number },
    succeeded = (): void => {},
    done = (): void => {},
  ): void =>
    trial.call(async (broker, process) => {
      const one = publications.add(topic, key, bytes, timeoutMs)
      const answered = trial.expectBy(world.nowMs + timeoutMs, `record ${one.id}`, process)
      try {
        publications.acknowledged(one, await broker.publish(one.record, steadyMs() + timeoutMs), process)
        succeeded()
      } catch (error) {
        if (!(error instanceof PublishError)) throw error
        publications.refused(one, error)
      }
      answered()
    }, done)

  return trial.run()
}

export const embeddedLog: Simulation<StorageScenario> = {
  name: "log",
  scenarioOf: (seed) => scenarioOf("log", seed),
  run,
}
