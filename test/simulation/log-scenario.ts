import { Trial } from "./trial.ts"
import { steadyMs } from "../../src/clock.ts"
import { PublishError } from "../../src/errors.ts"
import { openEmbedded, type EmbeddedBroker } from "../../src/brokers/embedded/broker.ts"
import { Publications, someBytes } from "./publications.ts"
import { simulatedLog } from "./simulated-log.ts"
import { readLog } from "./stored-records.ts"
import type { World } from "./world.ts"

const TOPICS = ["payments", "audit"]

/** Senders publish to an embedded log, whose disk, neighbours and processes fail. */
export function simulateLog(seed: number): World {
  const trial = new Trial<EmbeddedBroker>(seed, ({ world, random }) => ({
    open({ disk: { folder } }) {
      const log = simulatedLog(world, folder)
      const broker = openEmbedded({ directory: folder, partitions }, { log, metrics: { batch() {} } })
      broker.prepare(TOPICS)
      return broker
    },
    ready: (broker) => broker.ready(),
    close: (broker) => broker.close(),
    check: (folder, when) => publications.checkLog(readLog(folder), when),
  }))
  const { world, random } = trial
  const partitions = random.pick([1, 1, 3])
  const publications = new Publications(world)

  const publish = (topic: string, key: string | undefined, succeeded: () => void, done: () => void): void =>
    trial.call(async (broker, process) => {
      const timeoutMs = random.pick([100, 500, 2000])
      const one = publications.add(topic, key, someBytes(random))
      const answered = trial.expectBy(world.nowMs + timeoutMs, `record ${one.id}`, process)
      try {
        publications.acknowledged(one, await broker.publish(one.record, steadyMs() + timeoutMs))
        succeeded()
      } catch (error) {
        if (!(error instanceof PublishError)) throw error
        world.tell("sender", `${one.id} refused: ${error.code}`)
      }
      answered()
    }, done)

  const senders = 1 + random.below(5)
  for (let sender = 0; sender < senders; sender++) {
    const topic = random.pick(TOPICS)
    const key = random.below(4) === 0 ? undefined : `key-${sender}`
    trial.repeat(random.pick([20, 100, 300]), (done) => {
      const several = random.below(5) === 0 ? 3 : 1
      for (let one = 1; one < several; one++) publish(topic, key, () => {}, () => {})
      publish(topic, key, () => {}, done)
    })
  }
  return trial.run((succeeded, done) => publish(TOPICS[0]!, "after", succeeded, done))
}
