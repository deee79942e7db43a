import { closeSync, fdatasync, openSync, readFileSync, write } from "node:fs"
import { dirname } from "node:path"
import { promisify } from "node:util"
import type { Broker } from "../../../src/brokers/broker.ts"
import { MemoryLog } from "../../../src/brokers/memory/log.ts"
import { path } from "../../../src/config/options/option-types.ts"
import { defineConnection, UNCOUNTED, deliveryTimeout } from "../../../src/brokers/define-connection.ts"
import { HooklineError, opening, OptionError, PublishError } from "../../../src/errors.ts"
import type { Receipt, Record } from "../../../src/pipeline/record.ts"
import { exists, whyRefused } from "../../../src/process/paths.ts"
import { checkFolder } from "../../../src/storage/check-database.ts"
import type { ConnectionMetrics } from "../../../src/telemetry/connection-metrics.ts"

// The example of CONTRIBUTING.md's recipe for a broker: test/long/contributing.test.ts copies it to src/brokers.

/** A file to which each record is appended as a line of JSON. */
export const JSON_LINES = defineConnection({
  name: "json-lines",
  title: "JSON lines connection",
  aliases: [],
  summary: "`[connection:<id>]` with `json_lines`: each event is appended to that file, as a line of JSON.",
  adjective: "JSON lines",
  noun: "a file of JSON lines",
  key: "json_lines",
  form: "<file>",
  messagingSystem: "hookline",
  hasOneWriter: true,
  options: {
    json_lines: path({ doc: "The file, created if missing. One process writes to it at a time." }),
    delivery_timeout: deliveryTimeout,
  },
  describe: ({ json_lines: file }) => ({
    address: file,
    place: `JSON lines in ${file}`,
    ofTopic: `of ${file}`,
  }),
  acquire({ id, values: { json_lines: file }, config }, { transaction, metrics }) {
    const broker = transaction.acquire({
      name: `JSON lines in ${file}`,
      config,
      open: () => new JsonLines(file, metrics.connection(id)),
      close: (it) => it.close(),
    })
    return { broker, instance: broker }
  },
  open: ({ json_lines: file }) => new JsonLines(file, UNCOUNTED),
  openReader: ({ json_lines: file }) => readLines(file),
  dryRun: ({ json_lines: file }) =>
    opening("json_lines", () => checkFolder(dirname(file), { title: `The file ${file}` })),
  files: ({ json_lines: path }) =>
    path === undefined ? [] : [{ key: "json_lines", isInFolder: false, path }],
  oneProcess: () => ({
    key: "json_lines",
    what: "a file of JSON lines",
    advice: "publish to Kafka",
  }),
})

interface Line {
  readonly topic: string
  readonly key: string | undefined
  readonly value: string
  readonly timestampMs: number
}

interface Batch {
  readonly lines: string[]
  readonly durable: Promise<void>
}

const linesIn = (file: string): Line[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line)

/** The records in the file as of now. @throws HooklineError `no_log` */
async function readLines(file: string): Promise<MemoryLog> {
  if (!exists(file)) throw new HooklineError("no_log", `${file} does not exist`)
  const log = new MemoryLog()
  for (const { topic, key, value, timestampMs } of linesIn(file))
    await log.publish({
      topic,
      key: key === undefined ? key : Buffer.from(key),
      value: Buffer.from(value),
      timestampMs,
    })
  return log
}

/** Appends lines in batches: those that come while one is written and synced are the next one. */
class JsonLines implements Broker {
  readonly #file: number
  readonly #metrics: ConnectionMetrics
  /** The offset of the next record, by topic. */
  readonly #next = new Map<string, number>()
  /** The batch that is not yet written; undefined: it is empty. */
  #batch: Batch | undefined
  #written: Promise<unknown> = Promise.resolve()
  #problem: string | undefined

  constructor(file: string, metrics: ConnectionMetrics) {
    this.#metrics = metrics
    try {
      this.#file = openSync(file, "a", 0o600)
    } catch (cause) {
      throw new OptionError("config", "json_lines", `can't be opened: ${whyRefused(cause, file)}`, { cause })
    }
    for (const { topic } of linesIn(file)) this.#offsetIn(topic)
  }

  async publish({ topic, key, value, timestampMs = Date.now() }: Record): Promise<Receipt> {
    if (this.#problem !== undefined) throw new PublishError("log_io", this.#problem)
    const offset = this.#offsetIn(topic)
    const text = { key: key && Buffer.from(key).toString(), value: Buffer.from(value).toString() }
    this.#batch ??= this.#begin()
    this.#batch.lines.push(`${JSON.stringify({ topic, ...text, timestampMs })}\n`)
    await this.#batch.durable
    return { partition: 0, offset }
  }

  prepare(): void {}

  ready(): true | string {
    return this.#problem ?? true
  }

  async close(): Promise<void> {
    await this.#written
    closeSync(this.#file)
  }

  #offsetIn(topic: string): number {
    const offset = this.#next.get(topic) ?? 0
    this.#next.set(topic, offset + 1)
    return offset
  }

  #begin(): Batch {
    const lines: string[] = []
    const durable = this.#written.then(() => this.#write(lines))
    // its records' publish rejects
    this.#written = durable.catch(() => {})
    return { lines, durable }
  }

  async #write(lines: readonly string[]): Promise<void> {
    this.#batch = undefined
    const began = performance.now()
    try {
      await promisify(write)(this.#file, lines.join(""))
      await promisify(fdatasync)(this.#file)
    } catch (cause) {
      // what is in the file after a failed write or fsync is not known: it takes no more
      this.#problem = `the file can't be written: ${(cause as Error).message}`
      throw new PublishError("log_io", this.#problem, { cause })
    }
    this.#metrics.batch(lines.length, performance.now() - began)
  }
}
