import type { KnownPlace, LostKeys } from "../../pipeline/record.ts"
import type { Offsets } from "../../kafka-listener/log.ts"
import { CommitsLost } from "../../storage/open-files.ts"
import { disagreement, type LogPlace } from "../log-place.ts"
import type { Epochs, Extents } from "./log-epochs.ts"
import { recordsTable } from "./log-tables.ts"
import type { OpenPartition, OpenTopic } from "./open-partition.ts"

/** An open log's file, to be compared with what refers to its records. */
export interface LogContents {
  readonly topics: ReadonlyMap<string, OpenTopic>
  readonly clusterId: string
  /** As of its opening; now, where keys are compared. */
  readonly epochs: Epochs
  /** As of its opening. */
  readonly extents: Extents
  /** The epoch that its first commit has begun. */
  readonly epoch: { readonly number: number; readonly id: number } | undefined
}

/** Where partitions begin and end before a transaction. */
export const extentsOf = (topics: LogContents["topics"]): Extents =>
  new Map(partitionsOf(topics).map((it) => [recordsTable(it), { first: it.firstOffset, end: it.nextOffset }]))

const partitionsOf = (topics: LogContents["topics"]): OpenPartition[] =>
  [...topics.values()].flatMap(({ partitions }) => partitions)

/** The offsets of keys whose records the log does not have, or that a rescue has left behind. */
export function lostKeys(
  places: readonly KnownPlace[],
  { topics, clusterId, epochs }: LogContents,
  gaps: readonly (Offsets & { readonly records: string })[],
): LostKeys {
  const lost = places.flatMap(({ id, log, topic, partition, epoch, epochId, last, gaps: compared }) => {
    const open = topics.get(topic)?.partitions[partition]
    const table = open === undefined ? "" : recordsTable(open)
    const found = disagreement(
      {
        clusterId: log,
        offset: last + 1,
        epoch: { number: epoch, id: epochId || undefined, start: 0 },
      },
      { clusterId, end: open?.nextOffset ?? 0, epochs: epochs.of(table) },
    )
    const beyond = found && { place: id, first: found.offset ?? 0, end: Number.MAX_SAFE_INTEGER }
    const between = gaps
      .slice(compared)
      .filter((gap) => gap.records === table && gap.first <= last)
      .map(({ first, end }) => ({ place: id, first, end }))
    return [...(beyond === undefined ? [] : [beyond]), ...between]
  })
  return { gaps: gaps.length, lost }
}

/** Compares a file that was opened again with what was committed before. @throws CommitsLost */
export function checkFollows(now: LogContents, before: LogContents, file: string): void {
  for (const one of partitionsOf(before.topics)) {
    const table = recordsTable(one)
    const end = now.topics.get(one.name)?.partitions[one.partition]?.nextOffset ?? 0
    const found = disagreement(committedEnd(one, table, before), {
      clusterId: now.clusterId,
      end,
      epochs: now.epochs.of(table),
    })
    if (found === undefined) continue
    const last = `offset ${one.committedEnd - 1} of topic ${one.name}, partition ${one.partition}`
    throw new CommitsLost(file, `the record at ${last}`)
  }
}

function committedEnd(
  { committedEnd: offset }: OpenPartition,
  table: string,
  { clusterId, epochs, extents, epoch }: LogContents,
): LogPlace {
  const start = extents.get(table)?.end ?? 0
  const isOfThis = epoch !== undefined && offset > start
  return {
    clusterId,
    offset,
    epoch: isOfThis ? { ...epoch, start } : epochs.of(table).before(offset),
  }
}
