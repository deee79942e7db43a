import type { RequestOf, ResponseOf } from "../../../src/kafka-protocol/fields.ts"
import type { Produce } from "../../../src/kafka-protocol/messages.ts"
import type { Appended, BrokerModel } from "./model.ts"
import { CODE } from "./codes.ts"
import { readBatch } from "./record-batches.ts"

/** Appends the batches of a request; answers when each is replicated, refused or timed out. */
export function produce(
  broker: BrokerModel,
  request: RequestOf<typeof Produce>,
  answer: (response: ResponseOf<typeof Produce>) => void,
): void {
  const batches = request.topicData.flatMap(({ name, partitionData }) =>
    partitionData.map(({ index, records }) => ({ name, index, records: records as Buffer | null })),
  )
  const answers = new Map<string, Map<number, Appended>>()
  let left = batches.length
  for (const { name, index, records } of batches) {
    append(broker, { name, index, records }, request, (appended) => {
      answers.getOrInsertComputed(name, () => new Map()).set(index, appended)
      if (--left > 0) return
      const responses = [...answers].map(([topic, partitions]) => ({
        name: topic,
        partitionResponses: [...partitions].map(([partition, given]) => ({ index: partition, ...given })),
      }))
      answer({ responses })
    })
  }
}

function append(
  broker: BrokerModel,
  { name, index, records }: { name: string; index: number; records: Buffer | null },
  request: RequestOf<typeof Produce>,
  answer: (appended: Appended) => void,
): void {
  const { cluster } = broker
  const batch = records === null ? undefined : readBatch(records)
  const refuse = (errorCode: number): void => {
    if (batch !== undefined) cluster.onRefused(name, index, batch)
    answer({ errorCode, baseOffset: -1 })
  }
  const replica = broker.replica(name, index)
  if (replica === undefined) return refuse(CODE.UNKNOWN_TOPIC_OR_PARTITION)
  if (!replica.isLeader) return refuse(CODE.NOT_LEADER_OR_FOLLOWER)
  const faulty = batch === undefined || replica.has(batch) ? undefined : cluster.faultyAnswer?.()
  if (faulty !== undefined && !faulty.isAppended) return refuse(faulty.errorCode)
  if (batch === undefined) return refuse(CODE.CORRUPT_MESSAGE)
  if (batch.bytes.length > cluster.settings.maxMessageBytes) return refuse(CODE.MESSAGE_TOO_LARGE)
  const errorCode = replica.refusalOf(batch)
  if (errorCode !== undefined) return refuse(errorCode)
  replica.append(batch, request, (appended) =>
    answer(faulty === undefined ? appended : { errorCode: faulty.errorCode, baseOffset: -1 }),
  )
}
