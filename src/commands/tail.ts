import { isUtf8 } from "node:buffer"
import { once } from "node:events"
import type { ReadFrom, StoredRecord } from "../brokers/broker.ts"
import { escapeControls } from "../telemetry/escape-controls.ts"
import { openLogOf } from "./open-log.ts"
import { toPrintable } from "./printable.ts"

export const TAIL_OUTPUTS = ["value", "json", "raw"] as const
export type TailOutput = (typeof TAIL_OUTPUTS)[number]

/** Prints a topic's records; ends at the log's end, or with `follow` at an interrupt or when the reading end of the pipe is closed. */
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
  const reader = await openLogOf(options.config, options.connection)
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  process.once("SIGINT", abort)
  process.once("SIGTERM", abort)
  // a closed pipe (`| head`) is not an error
  process.stdout.once("error", abort)
  const show = SHOWN[options.output]
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

/** Values are untrusted: raw bytes are written only on request. */
const SHOWN: { readonly [output in TailOutput]: (record: StoredRecord) => string | Uint8Array } = {
  raw: ({ value }) => Buffer.concat([value, NEWLINE]),
  value({ value }) {
    const text = Buffer.from(value).toString()
    const escaped = escapeControls(text)
    return escaped === text && isUtf8(value) ? Buffer.concat([value, NEWLINE]) : `${escaped}\n`
  },
  json: (record) => `${escapeControls(JSON.stringify(toPrintable(record)))}\n`,
}
