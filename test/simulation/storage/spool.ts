import { Trial } from "./trial.ts"
import { steadyMs } from "../../../src/clock/clock.ts"
import { PublishError } from "../../../src/errors.ts"
import { SpooledBroker } from "../../../src/brokers/spool/spool.ts"
import type { Record } from "../../../src/pipeline/record.ts"
import type { Outcome, Simulation } from "../simulation.ts"
import type { SimulatedProcess } from "../simulated-process.ts"
import { simulatedLog } from "./log.ts"
import { Publications } from "./publications.ts"
import { ModelBroker, RemoteLog } from "./remote-log.ts"
import { scenarioOf, TOPICS, type StorageScenario } from "./scenario.ts"
import { readSpool, reserveIn, spoolIn } from "./stored-records.ts"

/** Senders publish to a spool before a remote log; both fail. */
function run(scenario: StorageScenario): Outcome {
  const { maxBytes } = scenario.settings
  const trial = new Trial<SpooledBroker>(scenario, ({ world }) => ({
    open({ disk: { folder } }) {
      const file = spoolIn(folder)
      const log = simulatedLog(world, folder)
      const spool = new SpooledBroker({ file, maxBytes }, { log, metrics: NO_METRICS })
      spool.prepare(TOPICS)
      spool.use(new ModelBroker(remote, watchOf(world.current!)))
      return spool
    },
    ready: (spool) => spool.ready(),
    close: (spool) => spool.close(steadyMs() + 500),
    publish: (step) => publish(step),
    tryOut: (succeeded, done) =>
      publish({ topic: TOPICS[0]!, key: -1, bytes: 10, timeoutMs: 1000 }, succeeded, done),
    remote: (state) => remote.set(state),
    heal: () => remote.set({ state: "up", lostAnswers: 0 }),
    check(folder, when) {
      const spooled = readSpool(folder)
      const there = new Set(
        [...remote.records, ...spooled].map((record) => publications.of(record, when)?.id),
      )
      for (const { id, receipt } of publications.all)
        if (receipt !== undefined && !there.has(id))
          world.violate(`${when}: record ${id} was acknowledged, and is neither forwarded nor spooled`)
      publications.checkOrder([...remote.records, ...spooled], when)
    },
    checkHealed(spool) {
      const { records, bytes, quarantined } = spool.spool()
      if (records > 0 || bytes > 0 || quarantined > 0)
        world.violate(`${records} records, ${bytes} bytes and ${quarantined} quarantined stay in the spool`)
    },
  }))
  const { world, machine } = trial
  const remote = new RemoteLog(world)
  const publications = new Publications(world)
  reserveIn(machine.disk.folder)

  /** A record whose publication was acknowledged to a process is not published again by it. */
  const watchOf = (process: SimulatedProcess) => {
    const acknowledged = new Set<number>()
    return (record: Record) => {
      const one = publications.of(record, "forwarded")
      if (!process.isAlive) world.violate("a process that has ended publishes")
      if (one !== undefined && acknowledged.has(one.id))
        world.violate(`record ${one.id} is published again although the remote log has acknowledged it`)
      return (isAcknowledged: boolean) => {
        if (isAcknowledged && one !== undefined) acknowledged.add(one.id)
      }
    }
  }

  const publish = (
    { topic, key, bytes, timeoutMs }: { topic: string; key: number; bytes: number; timeoutMs: number },
    succeeded = (): void => {},
    done = (): void => {},
  ): void =>
    trial.call(async (spool, process) => {
      const one = publications.add(topic, key, bytes, timeoutMs)
      const answered = trial.expectBy(world.nowMs + timeoutMs, `record ${one.id}`, process)
      try {
        publications.acknowledged(one, await spool.publish(one.record, steadyMs() + timeoutMs))
        succeeded()
      } catch (error) {
        if (!(error instanceof PublishError)) throw error
        publications.refused(one, error)
      }
      answered()
      const { bytes: held } = spool.spool()
      if (held > maxBytes) world.violate(`the spool holds ${held} bytes of ${maxBytes}`)
    }, done)

  return trial.run()
}

const NO_METRICS = { spooled() {}, forwarded() {}, quarantined() {} }

export const spool: Simulation<StorageScenario> = {
  name: "spool",
  scenarioOf: (seed) => scenarioOf("spool", seed),
  run,
}
