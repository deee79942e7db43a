import { Connection, createPartitionsV3, createTopicsV7, initProducerIdV4 } from "@platformatic/kafka"
import { errorCodeOf } from "../../src/brokers/kafka/failure.ts"
import { partitionsOf, type TestKafka } from "./kafka.ts"

/**
 * Creates a topic whose partitions lie where the test says, on a cluster that may have brokers which do not answer: all
 * is asked of the first server. Waits until that tells of the leaders.
 *
 * @param replicas ids of the brokers of each partition, the leader first; node 0 has id 1
 */
export async function createPlacedTopic(kafka: TestKafka, topic: string, replicas: Placement): Promise<void> {
  const assignments = replicas.map((ids, partitionIndex) => ({ partitionIndex, brokerIds: [...ids] }))
  const wanted = { name: topic, numPartitions: -1, replicationFactor: -1, assignments, configs: [] }
  await onFirstServer(kafka, (connection) =>
    createTopicsV7.api.async(connection, [wanted], ADMIN_TIMEOUT_MS, false),
  )
  await untilPlaced(kafka, topic, replicas.length)
}

/** Adds partitions to such a topic. */
export async function addPartitions(kafka: TestKafka, topic: string, more: Placement): Promise<void> {
  const count = (await partitionsOf(kafka, topic)).length + more.length
  const assignments = more.map((ids) => ({ brokerIds: [...ids] }))
  await onFirstServer(kafka, (connection) =>
    createPartitionsV3.api.async(connection, [{ name: topic, count, assignments }], ADMIN_TIMEOUT_MS, false),
  )
  await untilPlaced(kafka, topic, count)
}

/** Has the first server give a producer id, so that it has more to give without the controller. */
export async function takeProducerId(kafka: TestKafka): Promise<void> {
  await onFirstServer(kafka, async (connection) => {
    for (;;) {
      try {
        return await initProducerIdV4.api.async(connection, null, 0, -1n, -1)
      } catch (error) {
        // It asks the controller for some, and has none meanwhile.
        if (errorCodeOf(error) !== COORDINATOR_LOAD_IN_PROGRESS) throw error
        await Bun.sleep(20)
      }
    }
  })
}

const COORDINATOR_LOAD_IN_PROGRESS = 14

/** Ids of brokers for each partition. */
type Placement = readonly (readonly number[])[]

const ADMIN_TIMEOUT_MS = 10_000

async function onFirstServer<T>(kafka: TestKafka, ask: (connection: Connection) => Promise<T>): Promise<T> {
  const [host, port] = kafka.bootstrapServers[0]!.split(":") as [string, string]
  const connection = new Connection("hookline-test")
  await connection.connect(host, Number(port))
  try {
    return await ask(connection)
  } finally {
    await connection.close()
  }
}

async function untilPlaced({ bootstrapServers }: TestKafka, topic: string, count: number): Promise<void> {
  for (;;) {
    const partitions = await partitionsOf({ bootstrapServers: bootstrapServers.slice(0, 1) }, topic)
    if (partitions.length === count && partitions.every(({ leader }) => leader >= 0)) return
    await Bun.sleep(20)
  }
}
