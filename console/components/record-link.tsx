import type { CaptureDetail } from "../api.ts"
import { hrefOf } from "../router.ts"

export type PublishedRecord = NonNullable<CaptureDetail["record"]>

export const recordHref = ({ connection, topic, partition, offset }: PublishedRecord): string =>
  hrefOf("events", [connection, topic, partition, offset])

/** A link to a record among the events. */
export function RecordLink({ record }: { record: PublishedRecord }) {
  return (
    <a class="record-link" href={recordHref(record)}>
      {record.topic} / {record.partition} @ {record.offset}
    </a>
  )
}
