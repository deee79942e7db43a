import type { StoredRecord } from "../brokers/broker.ts"

/** A record as `--output json` prints it: its bytes are taken to be UTF-8. */
export function toPrintable({ topic, partition, offset, timestampMs, key, headers, value }: StoredRecord): {
  [field: string]: unknown
} {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
  return {
    topic,
    partition,
    offset,
    timestamp: new Date(timestampMs).toISOString(),
    key: key === undefined ? null : text(key),
    headers: headers.map(([name, value]) => [name, text(value)]),
    value: text(value),
  }
}
