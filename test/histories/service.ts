import { join } from "node:path"
import { startHookline, type LogLine, type RunningHookline } from "../support/hookline.ts"
import type { MovableClock } from "../support/movable-clock.ts"
import { HERE, type Machine } from "./network.ts"
import type { Delivery, HistoryFile } from "./history.ts"

const PORT = 8080
const ADMIN_PORT = 9090
const TOKEN = "histories-read-this"
const CLI = join(import.meta.dir, "../../src/cli.ts")

/** The topics, one of each pipeline, and what the pipeline does. */
export const TOPICS: { readonly [topic: string]: Delivery } = {
  plain: "plain",
  deduplicated: "deduplicated",
  spooled: "spooled",
}

/** A Hookline on a machine of its own, whose log gives the receipts of a history. */
export class Service {
  readonly machine: Machine
  readonly clock: MovableClock
  readonly #folder: string
  readonly #servers: readonly string[]
  readonly #history: HistoryFile
  readonly #log: Bun.FileSink
  #running: RunningHookline | undefined

  constructor(
    at: { machine: Machine; clock: MovableClock; folder: string; logFile: string },
    servers: readonly string[],
    history: HistoryFile,
  ) {
    this.machine = at.machine
    this.clock = at.clock
    this.#folder = at.folder
    this.#servers = servers
    this.#history = history
    this.#log = Bun.file(at.logFile).writer()
  }

  /** Where the events of a topic are posted. */
  urlOf(topic: string): string {
    return `http://${this.machine.address}:${PORT}/${topic}`
  }

  async start(): Promise<void> {
    this.#running = await startHookline(this.#configuration(), {
      folder: this.#folder,
      env: this.clock.env,
      program: [...this.machine.command, process.execPath, CLI],
      take: (line) => this.#take(line),
    })
  }

  signal(signal: NodeJS.Signals): void {
    this.#running?.signal(signal)
  }

  /** Ends it with a signal, and waits until it is gone. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.#running?.signal(signal)
    await this.#running?.exited
    await this.#log.flush()
  }

  /** How many events are in the spool. */
  async spooled(): Promise<number> {
    const headers = { Authorization: `Bearer ${TOKEN}` }
    const scrape = await fetch(`http://${this.machine.address}:${ADMIN_PORT}/metrics`, { headers })
    const [, value] = /^hookline_spool_records\{.*\} (\d+)$/m.exec(await scrape.text()) ?? []
    if (value === undefined) throw new Error("there is no hookline_spool_records")
    return Number(value)
  }

  /** Keeps the receipts in the history, and all that is above debug in the log file. */
  #take(line: LogLine): boolean {
    if (line.msg === "event published") {
      const { topic, partition, offset, request_id: id } = line
      // A sender that has given up has no address any more, so that it is no proxy whose request id counts.
      const [, n, attempt] = /^(\d+)\.(\d+)$/.exec(String(id)) ?? []
      if (n !== undefined && typeof partition === "number" && typeof offset === "number") {
        const at = { topic: String(topic), partition, offset }
        this.#history.add({ f: "receipt", n: Number(n), attempt: Number(attempt), ...at })
      }
      return true
    }
    if (line.level !== "debug") this.#log.write(`${this.#history.t} ${JSON.stringify(line)}\n`)
    return line.msg !== "started" && line["url"] === undefined
  }

  #configuration(): string {
    const connection = (id: string): string => `[connection:${id}]
bootstrap_servers = ${this.#servers.join(", ")}
delivery_timeout = 2s
client_id = ${id}`
    const pipeline = ([topic, delivery]: readonly [
      string,
      Delivery,
    ]): string => `[pipeline:${topic}:WebHookSource]
host = ${this.machine.address}
port = ${PORT}
path = /${topic}
trusted_proxies = ${HERE}
[pipeline:${topic}:Validator]
${delivery === "deduplicated" ? `[pipeline:${topic}:Deduplicator]\nkey = json:/n` : ""}
[pipeline:${topic}:BrokerSink]
connection = ${delivery === "spooled" ? "spooling" : "direct"}
topic = ${topic}
key = json:/k`
    return `${connection("direct")}
${connection("spooling")}
spool = ${join(this.#folder, "spool.sqlite")}
${Object.entries(TOPICS).map(pipeline).join("\n")}
[service]
log_level = debug
[admin]
listen = ${this.machine.address}:${ADMIN_PORT}
token = ${TOKEN}
capture = off`
  }
}
