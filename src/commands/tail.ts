import { once } from "node:events"
import type { ReadFrom, StoredRecord } from "../brokers/broker.ts"
import { openLogOf } from "./open-log.ts"
import { toPrintable } from "./printable.ts"

export const TAIL_OUTPUTS = ["value", "json"] as const
export type TailOutput = (typeof TAIL_OUTPUTS)[number]

/** Prints a topic's records; ends at the log's end, or with `follow` at an interrupt or when nobody reads any more. */
export async function tail(
  topic: string,
  options: {
    config?: string
    connection?: string
    from: ReadFrom
    follow: boolean
    output: TailOutput
  },
): Promise<void> {
  const reader = openLogOf(options.config, options.connection)
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  process.once("SIGINT", abort)
  process.once("SIGTERM", abort)
  // The other end of the pipe may have had enough (`| head`): that is no error.
  process.stdout.once("error", abort)
  const show = options.output === "json" ? asJson : asValue
  try {
    for await (const record of reader.read(topic, {
      from: options.from,
      follow: options.follow,
      signal: stop.signal,
    })) {
      if (stop.signal.aborted) break
      if (!process.stdout.write(show(record))) {
        await once(process.stdout, "drain", { signal: stop.signal }).catch(() => abort())
      }
    }
  } finally {
    process.off("SIGINT", abort)
    process.off("SIGTERM", abort)
    await reader.close()
  }
}

const NEWLINE = Buffer.from("\n")

function asValue(record: StoredRecord): Uint8Array {
  return Buffer.concat([record.value, NEWLINE])
}

const asJson = (record: StoredRecord): string => `${JSON.stringify(toPrintable(record))}\n`
