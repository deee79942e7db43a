import { pino } from "pino"
import { openEmbedded, type EmbeddedBroker, type EmbeddedOptions } from "../../src/brokers/embedded/broker.ts"
import { openEmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import type { StoredRecord } from "../../src/brokers/broker.ts"
import { readTopic } from "../../src/brokers/read-topic.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import type { Record } from "../../src/pipeline/record.ts"

const PUBLISH_MS = 60_000

/** The writer of an embedded log in this process; to be closed. */
export const openLog = (directory: string, options: Partial<EmbeddedOptions> = {}): EmbeddedBroker =>
  openEmbedded({ directory, ...options }, { log: pino({ level: "silent" }), metrics: { batch() {} } })

/** Publishes records to a topic of an embedded log that no other process writes. */
export async function fillLog(
  directory: string,
  topic: string,
  records: readonly Omit<Record, "topic">[],
): Promise<void> {
  const broker = openLog(directory)
  const deadlineMs = steadyMs() + PUBLISH_MS
  await Promise.all(records.map((record) => broker.publish({ topic, ...record }, deadlineMs)))
  await broker.close()
}

/** All records of a topic, as another process may be writing them. */
export async function recordsInLog(directory: string, topic: string): Promise<StoredRecord[]> {
  const reader = openEmbeddedReader(directory)
  const { signal } = new AbortController()
  try {
    return await Array.fromAsync(readTopic(reader, topic, { from: "beginning", follow: false, signal }))
  } finally {
    await reader.close()
  }
}

/**
 * Waits until the next opening of any copy of a log begins an epoch that no earlier opening has begun: the number of an epoch is
 * its time in seconds, or one more than the last, and two openings may have been in one second.
 */
export const untilEpochsArePast = (): Promise<void> => Bun.sleep(2000)
