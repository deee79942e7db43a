import {
  alterPartitionReassignmentsV0,
  Connection,
  createPartitionsV3,
  describeQuorumV2,
  incrementalAlterConfigsV1,
} from "../../src/brokers/kafka/client-library.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { kafkaTool } from "../support/kafka-clients.ts"
import { partitionsOf, startKafka, type OwnKafka } from "../support/kafka.ts"
import type { MovableClock } from "../support/movable-clock.ts"
import type { Machine, Network } from "./network.ts"

export const BROKERS = 3
export const PARTITIONS = 3
export const MIN_IN_SYNC = 2
const IDS = [1, 2, 3]
const ADMIN_TIMEOUT_MS = 5000
const TOPIC = 2
const SET = 0

/** A Kafka of three brokers, each on a machine of its own and with a clock of its own. Unclean leader election is off. */
export interface Cluster {
  readonly kafka: OwnKafka
  readonly machines: readonly Machine[]
  readonly clocks: readonly MovableClock[]
}

/** @param clocks one for each broker */
export async function startCluster(network: Network, clocks: readonly MovableClock[]): Promise<Cluster> {
  const machines: Machine[] = []
  for (let id = 1; id <= BROKERS; id++) machines.push(await network.machine(`broker ${id}`))
  const kafka = await startKafka({
    brokers: BROKERS,
    machines: machines.map(({ address, command }, at) => {
      const env = Object.entries(clocks[at]!.env).map((pair) => pair.join("="))
      return { address, command: [...command, "env", ...env] }
    }),
    properties: {
      "auto.create.topics.enable": "false",
      "unclean.leader.election.enable": "false",
      "default.replication.factor": `${BROKERS}`,
      "min.insync.replicas": `${MIN_IN_SYNC}`,
      "replica.lag.time.max.ms": "4000",
      "controlled.shutdown.enable": "true",
      // Each of its segments is a file; a history has many.
      "log.segment.bytes": "67108864",
    },
  })
  // Brokers that were all killed would else leave partitions without a leader for good, where unclean leader election is off
  // (KIP-966: after a kill a replica counts as one that may have lost its disk's last writes).
  const feature = ["--feature", "eligible.leader.replicas.version=0"]
  const { status, stdout, stderr } = await kafkaTool(
    "FeatureCommand",
    kafka.bootstrapServers[0]!,
    "downgrade",
    ...feature,
  )
  if (status !== 0) throw new Error(`the brokers' features could not be set: ${stdout}${stderr}`)
  return { kafka, machines, clocks }
}

/** Asks the brokers in turn, until one answers. */
async function ask<T>({ kafka }: Cluster, question: (connection: Connection) => Promise<T>): Promise<T> {
  let failure: unknown
  for (const server of kafka.bootstrapServers) {
    const [host, port] = server.split(":") as [string, string]
    const connection = new Connection("histories", { connectTimeout: 1000, requestTimeout: ADMIN_TIMEOUT_MS })
    // What breaks is told to whoever asks.
    connection.on("error", () => {})
    try {
      await connection.connect(host, Number(port))
      return await question(connection)
    } catch (error) {
      failure = error
    } finally {
      await connection.close().catch(() => {})
    }
  }
  throw failure
}

/** Place of the broker that is the active controller. */
export async function controllerOf(cluster: Cluster): Promise<number> {
  const topics = [{ topicName: "__cluster_metadata", partitions: [{ partitionIndex: 0 }] }]
  const { topics: found } = await ask(cluster, (connection) => describeQuorumV2.api.async(connection, topics))
  const { leaderId } = found[0]!.partitions[0]!
  if (leaderId < 1) throw new Error("the quorum has no leader")
  return leaderId - 1
}

/** @param replicas ids of brokers for some partitions, the preferred leader first */
export async function reassign(
  cluster: Cluster,
  topic: string,
  replicas: readonly { readonly partition: number; readonly ids: readonly number[] }[],
): Promise<void> {
  const partitions = replicas.map(({ partition, ids }) => ({
    partitionIndex: partition,
    replicas: [...ids],
  }))
  await ask(cluster, (connection) =>
    alterPartitionReassignmentsV0.api.async(connection, ADMIN_TIMEOUT_MS, true, [
      { name: topic, partitions },
    ]),
  )
}

/** @param count of partitions, with the new one @param ids of the new one's brokers, the preferred leader first */
export async function addPartition(
  cluster: Cluster,
  topic: string,
  count: number,
  ids: readonly number[],
): Promise<void> {
  const wanted = { name: topic, count, assignments: [{ brokerIds: [...ids] }] }
  await ask(cluster, (connection) =>
    createPartitionsV3.api.async(connection, [wanted], ADMIN_TIMEOUT_MS, false),
  )
}

export async function setMinInsyncReplicas(cluster: Cluster, topic: string, count: number): Promise<void> {
  const configs = [{ name: "min.insync.replicas", configOperation: SET, value: `${count}` } as const]
  await ask(cluster, (connection) =>
    incrementalAlterConfigsV1.api.async(
      connection,
      [{ resourceType: TOPIC, resourceName: topic, configs }],
      false,
    ),
  )
}

/**
 * Waits until every partition of some topics has a leader and all its replicas, in sync. A broker that was paused may have
 * done what it had been asked for before only once it went on: so what faults changed is set right here.
 */
export async function untilInSync(
  cluster: Cluster,
  topics: readonly string[],
  withinMs: number,
): Promise<void> {
  const end = steadyMs() + withinMs
  for (const topic of topics) {
    for (let problem: unknown; ; await Bun.sleep(500)) {
      if (steadyMs() > end)
        throw new Error(`${topic} is not in sync after ${withinMs} ms`, { cause: problem })
      try {
        await setMinInsyncReplicas(cluster, topic, MIN_IN_SYNC)
        const partitions = await partitionsOf(cluster.kafka, topic)
        if (partitions.every(({ leader, isr }) => leader > 0 && isr.length === BROKERS)) break
        problem = partitions
        const few = partitions.flatMap(({ replicas }, partition) =>
          replicas.length < BROKERS ? [{ partition, ids: IDS }] : [],
        )
        if (few.length > 0) await reassign(cluster, topic, few)
      } catch (error) {
        problem = error
      }
    }
  }
}
