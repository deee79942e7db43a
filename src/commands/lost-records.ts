import { UNKNOWN_END } from "../brokers/embedded/partition-end.ts"
import type { UnreadRecords } from "../kafka-listener/log.ts"
import { printTable } from "./table.ts"

export function printLost(lost: readonly UnreadRecords[]): void {
  if (lost.length === 0) return
  console.log("records that can't be read:")
  const rows = lost.map(({ topic, partition, first, end }) => [
    topic,
    `${partition}`,
    `${first}`,
    end === UNKNOWN_END ? "the end" : `${end - 1}`,
  ])
  printTable([["TOPIC", "PARTITION", "FIRST", "LAST"], ...rows], [0])
}

/** The JSON of lost records; without `end` all that follow are lost. */
export const asJson = ({ end, ...lost }: UnreadRecords): object =>
  end === UNKNOWN_END ? lost : { ...lost, end }
