import { PipelineTrial } from "./pipeline.ts"
import { steadyMs } from "../../../src/clock/clock.ts"
import { KafkaProducer } from "../../../src/brokers/kafka/producer.ts"
import { SpooledBroker } from "../../../src/brokers/spool/spool.ts"
import type { Record } from "../../../src/pipeline/record.ts"
import { kafkaOptions } from "../../support/kafka-options.ts"
import { Cluster } from "../kafka/cluster.ts"
import { carryOut } from "../kafka/faults.ts"
import type { KafkaSimulation } from "../kafka/kafka-simulation.ts"
import { Network, useNetwork } from "../kafka/network.ts"
import type { Entry } from "../kafka/replica-log.ts"
import { releaseOf, scenarioOf as kafkaScenarioOf, type KafkaScenario } from "../kafka/scenario.ts"
import type { Simulation } from "../simulation.ts"
import { scenarioOf, TOPICS, type StorageScenario } from "./scenario.ts"
import { readSpool, reserveIn, spoolIn } from "./stored-records.ts"

/** A scenario of a whole service: what happens to its machine, and to the cluster that it publishes to. */
interface ServiceScenario extends StorageScenario {
  readonly cluster: KafkaScenario["cluster"]
  readonly release: string
  /** As the steps of the machine; those that take the cluster's word back, or its answers, are left out. */
  readonly clusterSteps: KafkaScenario["steps"]
}

const PARTITIONS = 3
/** What every cluster recovers from without losing what it acknowledged, or refusing anything for good. */
const CLUSTER_FAULTS: readonly string[] = [
  "move",
  "crash",
  "stall broker",
  "cut off",
  "lag",
  "throttle",
  "slow peers",
  "slow",
  "silence",
  "cut",
  "no answer",
]

/** Senders, a Deduplicator with its file, a spool, the producer, and a cluster: all of it real but cluster, network and disk. */
export const service: Simulation<ServiceScenario> = {
  name: "service",
  scenarioOf(seed) {
    const { cluster, release, steps } = kafkaScenarioOf(seed)
    const own = scenarioOf("service", seed)
    const clusterSteps = steps
      .filter(({ do: what }) => CLUSTER_FAULTS.includes(what))
      .map((step) => ({
        ...step,
        atMs: step.atMs / 2,
        ...("topic" in step && { topic: TOPICS[0]!, index: 0 }),
      }))
    const limits = { maxMessageBytes: 1_048_588, maxRequestBytes: 104_857_600 }
    return {
      ...own,
      cluster: { ...cluster, ...limits },
      release,
      clusterSteps: clusterSteps as KafkaScenario["steps"],
    }
  },
  run(scenario) {
    const { settings, clusterSteps } = scenario
    return new PipelineTrial(scenario, ({ world, machine }) => {
      const cluster = new Cluster(world, { ...scenario.cluster, release: releaseOf(scenario as never) })
      const network = new Network(world, cluster.servers)
      useNetwork(world, network)
      const committed: Pick<Record, "topic" | "value">[] = []
      const known = new Set<Entry>()
      cluster.onCommitted = ({ name }, _, entries) => {
        for (const entry of entries) {
          if (known.has(entry)) continue
          known.add(entry)
          for (const { value } of entry.batch.records) committed.push({ topic: name, value })
        }
      }
      for (const name of TOPICS) cluster.controller.create(name, PARTITIONS)
      const simulated = { world, cluster, network } as unknown as KafkaSimulation
      for (const step of clusterSteps) world.after(step.atMs, () => carryOut(simulated, step))
      reserveIn(machine.disk.folder)
      return {
        keys: "file",
        open(folder, log) {
          const spool = new SpooledBroker(
            { file: spoolIn(folder), maxBytes: settings.maxBytes },
            { log, metrics: { spooled() {}, forwarded() {}, quarantined() {} } },
          )
          const metrics = { batch() {}, retried() {}, connected() {}, incident() {} }
          const producer = new KafkaProducer(kafkaOptions([...cluster.servers.keys()]), { log, metrics })
          spool.prepare(TOPICS)
          spool.use(producer)
          const close = async (): Promise<void> => {
            await spool.close(steadyMs() + 500)
            await producer.close()
          }
          return {
            publish: (record, deadlineMs) => spool.publish(record, deadlineMs),
            prepare: (topics) => spool.prepare(topics),
            ready: () => spool.ready(),
            spool: () => spool.spool(),
            close,
          }
        },
        stored: (folder) => [...committed, ...readSpool(folder)],
        heal() {
          cluster.heal()
          network.heal()
        },
        checkHealed(broker) {
          const { records, quarantined } = broker.spool!()
          if (records + quarantined > 0)
            world.violate(`${records} records and ${quarantined} quarantined ones stay in the spool`)
        },
      }
    }).run()
  },
}
