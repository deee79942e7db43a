import { join } from "node:path"
import type { Mutation } from "../mutation.ts"

const KAFKA = "src/brokers/kafka"
const QUEUE = "../../clock/deadlines.ts"

const kafka = (
  name: string,
  file: string,
  text: string,
  replacement: string,
  finding?: string,
): Mutation => ({
  name,
  simulation: "kafka",
  changes: [{ file: join(KAFKA, file), text, replacement }],
  ...(finding !== undefined && { finding }),
})

const LOST = "was acknowledged at"

export const KAFKA_MUTATIONS: readonly Mutation[] = [
  kafka(
    "a partition's state is kept as long as the producer id, though brokers do not know the topic",
    "topic.ts",
    `        this.#become("missing")`,
    `{ this.#become("missing"); this.#known.length = 0; this.partitions = [] }`,
    LOST,
  ),
  kafka(
    "a topic's state is kept while it is not looked up",
    "producer.ts",
    "this.#topics.getOrInsertComputed(name, () => new Topic(name, this.#context))",
    "new Topic(name, this.#context)",
  ),
  kafka(
    "a batch that is given up raises the epoch",
    "partition.ts",
    `    this.#sequence.raiseEpoch()
    for (const record of records) record.settle(error)`,
    "    for (const record of records) record.settle(error)",
  ),
  {
    name: "one batch of a partition is out at a time",
    simulation: "kafka",
    changes: [
      {
        file: `${KAFKA}/leader-queue.ts`,
        text: "    if (partition.notBeforeMs > nowMs || partition.batch?.inFlight === true) return",
        replacement: "    if (partition.notBeforeMs > nowMs) return",
      },
      {
        file: `${KAFKA}/leader-queue.ts`,
        text: "    const batch = partition.batch ?? partition.formBatch(",
        replacement:
          "    const batch = (partition.batch?.inFlight === true ? undefined : partition.batch) ?? partition.formBatch(",
      },
    ],
  },
  kafka(
    "a batch of unknown outcome is sent again as it is",
    "partition.ts",
    `    this.health.lost(nowMs)
    this.#retry(batch, nowMs, pauseMs)`,
    `    this.health.lost(nowMs)
    this.#requeue(batch, nowMs)`,
  ),
  kafka(
    "a batch of unknown outcome stays one after a definite refusal",
    "partition.ts",
    "        if (batch.isUncertain) return this.#retry(batch, nowMs)\n",
    "",
  ),
  kafka(
    "a batch's memory is given back when it is acknowledged, not before",
    "partition.ts",
    "    this.health.lost(nowMs)\n",
    "    this.health.lost(nowMs)\n    this.topic.context.memory.giveBack(batch.bytes)\n",
  ),
  kafka(
    "what the kernel does not take at once is sent later",
    "broker-socket.ts",
    "    if (written < bytes.length) this.#unsent.push(bytes.subarray(written))\n",
    "",
  ),
  kafka(
    "what the kernel does not take at once goes before what follows",
    "broker-socket.ts",
    "this.#unsent.length > 0 ? 0 : Math.max",
    "Math.max",
  ),
  kafka(
    "NOT_LEADER_OR_FOLLOWER leaves the outcome open",
    "error-actions.ts",
    `  6: "retry_batch",`,
    `  6: "retry_records",`,
  ),
  kafka(
    "REQUEST_TIMED_OUT leaves the outcome open",
    "error-actions.ts",
    `  7: "retry_batch",`,
    `  7: "retry_records",`,
  ),
  kafka(
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND leaves the outcome open",
    "error-actions.ts",
    `  20: "retry_batch",`,
    `  20: "retry_records",`,
  ),
  kafka(
    "UNKNOWN_TOPIC_OR_PARTITION leaves the outcome open",
    "error-actions.ts",
    `  3: "retry_batch",`,
    `  3: "retry_records",`,
  ),
  kafka(
    "acks=all: all in-sync replicas have what is acknowledged",
    "produce-request.ts",
    "const ALL_IN_SYNC = -1",
    "const ALL_IN_SYNC = 1",
    LOST,
  ),
  kafka(
    "UNKNOWN_PRODUCER_ID raises the epoch",
    "error-actions.ts",
    `  59: "raise_epoch",`,
    `  59: "retry_records",`,
  ),
  kafka(
    "records that are sent again go before later ones",
    QUEUE,
    "this.#items = [...items, ...this.#items]",
    "this.#items = [...this.#items, ...items]",
  ),
  kafka(
    "deadlines are looked at before a request is formed",
    "leader-queue.ts",
    "    partition.expire(nowMs)\n",
    "",
  ),
  kafka(
    "a batch past its deadline is given up",
    "partition.ts",
    "    if (!batch.inFlight) this.giveUp()\n  }\n\n  /** Rejects all records; a batch in flight",
    "  }\n\n  /** Rejects all records; a batch in flight",
  ),
  kafka(
    "a batch takes as much as comes in two round trips",
    "accumulator.ts",
    "isUrgent ? Number.MAX_VALUE : Math.max(DEADLINE_SPREAD_MS, 2 * roundTrips.longestMs)",
    "DEADLINE_SPREAD_MS",
    "was rejected (deadline) although the cluster takes it",
  ),
  kafka(
    "a record that is left for the next batch keeps later ones of its key behind it",
    "pending-queue.ts",
    "    if (this.#left.has(key)) return true\n",
    "",
    "of the same key",
  ),
  kafka("deadlines are looked at in time", QUEUE, "const SWEEP_MS = 10\n", "const SWEEP_MS = 100\n"),
  kafka(
    "requests get smaller when the broker closes the connection on large ones",
    "request-limit.ts",
    "    this.bytes = lowered\n",
    "",
  ),
  kafka(
    "a producer that closes waits for what is pending",
    "producer.ts",
    "    if (this.#pending > 0) await this.#drained.promise\n",
    "",
  ),
  kafka(
    "a producer that closes closes its connections for metadata",
    "metadata.ts",
    "    this.#brokers.close()\n",
    "",
  ),
]
