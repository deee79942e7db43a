import { messageInFile } from "../../message.ts"
import { formatEndpoint, isInUse, listenFailure } from "../../addresses/endpoint.ts"
import { OptionError } from "../../errors.ts"
import type { RetentionLimits } from "../../kafka-listener/log.ts"
import type { PortOptions } from "../../kafka-listener/port.ts"
import { SharedCounters } from "../../kafka-listener/shared-counters.ts"
import type { FromThread, ToThread } from "../../kafka-listener/thread-messages.ts"
import { logIn } from "../../storage/database-file.ts"
import { DurableWriter, type WriterDependencies } from "../../storage/durable-writer.ts"
import { threadUrl } from "../../process/thread-url.ts"
import type { Logger } from "../../telemetry/log.ts"
import { RequestLog } from "../../telemetry/request-log.ts"
import { GroupDatabase, groupsIn } from "./group-database.ts"
import { OPEN_TO_MACHINE } from "./options.ts"

/*
 * The event loop's side of the listener for Kafka clients, which has a thread of its own (kafka-listener-thread.ts), so that
 * consumers cost the event loop nothing but a message a commit, and that only while a fetch waits for one.
 *
 * The thread reads the log's file itself. While the file is recovered after a failure it must not be open: `open` and
 * `close` say when it may be. A thread that crashes is started again, with the same ports.
 *
 * A port that another program has, such as a Kafka on the same machine, does not keep the service from receiving events: it
 * is tried every second until it is free. So is one that was open and can't be opened again.
 */

/** A port that is open, or about to be. */
export interface KafkaPort {
  /** Resolves when it is open, or another program has it. Rejects with OptionError `listen` of kafka_listen. */
  readonly listening: Promise<void>
  /** Changes what is not the address. Clients stay connected, unless the certificate changes. */
  change(options: Omit<PortOptions, "listen">): void
  close(): void
}

interface OpenPort {
  options: PortOptions
  readonly listening: PromiseWithResolvers<void>
  /** `listening` is resolved. */
  hasStarted: boolean
  /** Why it is not open. */
  problem: string | undefined
  retrying: Timer | undefined
}

const RESTART_MS = 1000

export class KafkaListener {
  readonly #directory: string
  readonly #log: Logger
  readonly #refusals: RequestLog
  readonly #groups: DurableWriter<GroupDatabase>
  readonly #counters = new SharedCounters()
  readonly #ports = new Map<number, OpenPort>()
  #thread: Worker
  #isOpen = false
  #retention: RetentionLimits
  #nextId = 0
  #restarting: Timer | undefined
  #ended: PromiseWithResolvers<void> | undefined

  /** @throws HooklineError `log_locked`, `log_io` */
  constructor(
    directory: string,
    retention: RetentionLimits,
    { log, unopened }: Pick<WriterDependencies, "log" | "unopened">,
  ) {
    const location = groupsIn(directory)
    this.#groups = new DurableWriter(location, () => new GroupDatabase(location).close(), {
      log,
      unopened,
      failed: () => {},
      recovered: () => this.#load(),
    })
    this.#directory = directory
    this.#retention = retention
    this.#log = log
    this.#refusals = new RequestLog(log)
    this.#thread = this.#start()
  }

  listen(options: PortOptions): KafkaPort {
    const id = this.#nextId++
    const listening = Promise.withResolvers<void>()
    // a start that fails for another reason awaits none of them
    listening.promise.catch(() => {})
    this.#ports.set(id, { options, listening, hasStarted: false, problem: undefined, retrying: undefined })
    this.#post({ kind: "listen", id, port: options })
    return {
      listening: listening.promise,
      change: (changed) => {
        const port = this.#ports.get(id)
        if (port === undefined) return
        port.options = { ...port.options, ...changed }
        this.#post({ kind: "change", id, port: port.options })
      },
      close: () => {
        clearTimeout(this.#ports.get(id)?.retrying)
        this.#ports.delete(id)
        this.#post({ kind: "unlisten", id })
      },
    }
  }

  /** The log's file may be read from now on. */
  open(): void {
    this.#isOpen = true
    this.#post({ kind: "open" })
  }

  /** The log's file must not be open until `open`. */
  close(): void {
    this.#isOpen = false
    this.#post({ kind: "close" })
  }

  retain(retention: RetentionLimits): void {
    this.#retention = retention
    this.#post({ kind: "retain", retention })
  }

  /** Records were committed to these topics. */
  committed(topics: readonly string[]): void {
    this.#counters.changed()
    if (this.#counters.waiting > 0) this.#post({ kind: "committed", topics })
  }

  /** Records were deleted. */
  trimmed(): void {
    this.#counters.changed()
  }

  /** Disconnects all clients and closes the log's file. */
  end(): Promise<void> {
    if (this.#ended !== undefined) return this.#ended.promise
    this.#ended = Promise.withResolvers()
    if (this.#restarting === undefined) this.#post({ kind: "end" })
    else this.#over()
    return this.#ended.promise
  }

  #post(message: ToThread): void {
    // a thread that starts again is sent everything
    if (this.#restarting === undefined) this.#thread.postMessage(message, [])
  }

  #start(): Worker {
    this.#counters.waiting = 0
    const thread = new Worker(threadUrl("./kafka-listener-thread", import.meta))
    thread.addEventListener("message", ({ data }: MessageEvent<FromThread>) => this.#received(data))
    thread.addEventListener("error", ({ message }) => this.#crashed(message))
    const post = (message: ToThread): void => thread.postMessage(message, [])
    const { file: log, remedy } = logIn(this.#directory)
    const files = { log, remedy, groups: groupsIn(this.#directory).file }
    post({ kind: "start", directory: this.#directory, files, counters: this.#counters.array })
    post({ kind: "retain", retention: this.#retention })
    if (this.#isOpen) post({ kind: "open" })
    for (const [id, port] of this.#ports) {
      clearTimeout(port.retrying)
      port.retrying = undefined
      post({ kind: "listen", id, port: port.options })
    }
    this.#load()
    return thread
  }

  /** A thread that has the groups already keeps them. */
  #load(): void {
    this.#groups.do("state", [], (answer) => {
      if (answer.kind === "done") this.#post({ kind: "groups", state: answer.value })
    })
  }

  #crashed(reason: string): void {
    if (this.#ended !== undefined) return this.#over()
    if (this.#restarting !== undefined) return
    this.#log.error(
      { reason },
      "the listener for Kafka clients failed: its clients are disconnected; restarting it",
    )
    this.#thread.terminate()
    this.#restarting = setTimeout(() => {
      this.#restarting = undefined
      this.#thread = this.#start()
    }, RESTART_MS)
  }

  #received(message: FromThread): void {
    switch (message.kind) {
      case "listening":
        return this.#opened(message.id, message.port)
      case "not_listening":
        return this.#notOpened(message.id, message)
      case "write":
        return this.#groups.do("write", [message.changes], ({ kind }) =>
          this.#post({ kind: "written", isWritten: kind === "done" }),
        )
      case "ended":
        return this.#over()
      case "log":
        return this.#log[message.level](message.fields, message.text)
      case "refused":
        return this.#refusals.write(
          "warn",
          { pipeline: undefined, reason: message.reason, client: message.client },
          `Kafka client disconnected: ${message.reason}`,
        )
    }
  }

  #opened(id: number, number: number): void {
    const port = this.#ports.get(id)
    if (port === undefined) return
    const { host } = port.options.listen
    const address = formatEndpoint({ host, port: number })
    this.#log.info({ address }, "listening for Kafka clients")
    if (port.options.users === undefined)
      this.#log.warn({ address }, `kafka_listen: ${messageInFile(OPEN_TO_MACHINE)}`)
    port.problem = undefined
    started(port)
  }

  #notOpened(id: number, error: { readonly code: string; readonly message: string }): void {
    const port = this.#ports.get(id)
    if (port === undefined) return
    const text = listenFailure(port.options.listen, error)
    if (isInUse(error)) started(port)
    if (port.hasStarted) this.#reopen(id, port, text)
    else port.listening.reject(new OptionError("listen", "kafka_listen", text))
  }

  #reopen(id: number, port: OpenPort, problem: string): void {
    if (port.problem !== problem)
      this.#log.warn(
        { reason: problem },
        "Kafka clients can't connect, events are received; retrying every second",
      )
    port.problem = problem
    port.retrying = setTimeout(() => {
      port.retrying = undefined
      this.#post({ kind: "listen", id, port: port.options })
    }, RESTART_MS)
  }

  #over(): void {
    clearTimeout(this.#restarting)
    for (const { retrying } of this.#ports.values()) clearTimeout(retrying)
    this.#refusals.flush()
    this.#thread.terminate()
    void this.#groups.close().then(() => this.#ended?.resolve())
  }
}

function started(port: OpenPort): void {
  port.hasStarted = true
  port.listening.resolve()
}
