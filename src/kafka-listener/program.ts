import { steadyMs } from "../clock/clock.ts"
import { Commits } from "./commits.ts"
import type { ServedBroker } from "./apis/context.ts"
import type { GuessLimit } from "./connection.ts"
import { Groups } from "./groups/groups.ts"
import type { GroupChanges, Log, UnreadRecords } from "./log.ts"
import { LogView } from "./log-view.ts"
import { ListenerPort } from "./port.ts"
import { SharedCounters } from "./shared-counters.ts"
import type { FromThread, ToThread } from "./thread-messages.ts"

const MOST_NOTED = 1000
/** Between two lines about a disk that does not read. */
const UNREAD_MS = 60_000
/** Groups or offsets named in a log line. */
const MAX_LISTED = 20

/** What the listener needs of the program that it is a part of. */
export interface Surroundings {
  /** @throws if it can't be read */
  readonly openLog: (directory: string) => Log
  /** For each port. */
  readonly limitGuesses: () => GuessLimit
  /** Whether half of the process's file descriptors are open. */
  readonly isHalfOpen: () => boolean
}

/** The program of the listener's thread: serves Kafka clients from a log. */
export class ListenerProgram {
  readonly #self: Worker
  readonly #surroundings: Surroundings
  readonly #ports = new Map<number, ListenerPort>()
  /** When the log last had a line about a disk that does not read. */
  #unreadMs = Number.NEGATIVE_INFINITY
  /** Records that the log has a line about. */
  readonly #noted = new Set<string>()
  /** From the first message on. */
  #broker!: ServedBroker
  #files!: Extract<ToThread, { kind: "start" }>["files"]

  /** @param self the thread that this runs in */
  constructor(self: Worker, surroundings: Surroundings) {
    this.#self = self
    this.#surroundings = surroundings
    self.addEventListener("message", ({ data }: MessageEvent<ToThread>) => {
      try {
        this.#perform(data)
      } catch (error) {
        this.#failed(error)
      }
    })
  }

  #perform(message: ToThread): void {
    switch (message.kind) {
      case "start":
        this.#start(message)
        break
      case "open":
        this.#broker.log.open()
        break
      case "close":
        this.#broker.log.close()
        break
      case "committed":
        this.#broker.commits.committed(message.topics)
        break
      case "retain":
        this.#broker.retention = message.retention
        break
      case "groups":
        this.#load(message.state).catch(this.#failed)
        break
      case "written":
        this.#broker.groups.written(message.isWritten)
        break
      case "listen":
        this.#listen(message)
        break
      case "change":
        this.#change(message)
        break
      case "unlisten":
        this.#ports.get(message.id)?.close()
        this.#ports.delete(message.id)
        break
      case "end":
        for (const port of this.#ports.values()) port.close()
        this.#broker.log.close()
        this.#post({ kind: "ended" })
    }
  }

  #start({ directory, files, counters: shared }: Extract<ToThread, { kind: "start" }>): void {
    this.#files = files
    const counters = new SharedCounters(shared)
    const { openLog } = this.#surroundings
    this.#broker = {
      log: new LogView(
        () => openLog(directory),
        counters,
        (records) => this.#noteDamage(records),
        (reason) => this.#noteUnread(reason),
      ),
      commits: new Commits(counters),
      groups: new Groups({
        write: (changes) => this.#post({ kind: "write", changes }),
        expired: (groups) =>
          this.#write(
            "info",
            { groups: groups.slice(0, MAX_LISTED), count: groups.length },
            "consumer groups deleted with their offsets: they had no members and no commits for 7 days",
          ),
      }),
      retention: { ms: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY },
    }
  }

  async #load(state: GroupChanges): Promise<void> {
    const { log, groups } = this.#broker
    while (log.whenOpen() !== undefined) await log.whenOpen()
    const { isOfAnotherLog, setBack } = groups.load(state, {
      clusterId: log.source.clusterId,
      lastCommittable: (topic, partition, epoch) => log.lastCommittable(topic, partition, epoch),
    })
    if (isOfAnotherLog)
      this.#write(
        "warn",
        { file: this.#files.groups },
        "the consumer groups are of another log, which this one replaced: deleting them; consumers start as auto.offset.reset says",
      )
    if (setBack.length > 0)
      this.#write(
        "warn",
        { offsets: setBack.slice(0, MAX_LISTED), count: setBack.length },
        "consumer groups have committed offsets beyond the end of the log: an earlier copy has replaced it; set back to its end, so that they get every record since",
      )
  }

  #listen({ id, port: options }: Extract<ToThread, { kind: "listen" }>): void {
    const { limitGuesses, isHalfOpen } = this.#surroundings
    try {
      const port = new ListenerPort(options, {
        broker: this.#broker,
        guesses: limitGuesses(),
        isHalfOpen,
        failed: this.#failed,
        refused: (reason, client) => this.#post({ kind: "refused", reason, client }),
      })
      this.#ports.set(id, port)
      this.#post({ kind: "listening", id, port: port.port })
    } catch (error) {
      const { code = "", message } = error as NodeJS.ErrnoException
      this.#post({ kind: "not_listening", id, code, message })
    }
  }

  /** Another certificate needs another server, which disconnects the clients of the one before. */
  #change(message: Extract<ToThread, { kind: "change" }>): void {
    const port = this.#ports.get(message.id)
    if (port === undefined) return
    const { tls } = port.options
    if (tls?.cert === message.port.tls?.cert && tls?.key === message.port.tls?.key) {
      port.options = message.port
      return
    }
    port.close()
    this.#ports.delete(message.id)
    this.#listen({ ...message, kind: "listen" })
  }

  #noteDamage({ topic, partition, first, end }: UnreadRecords): void {
    const name = `${topic} ${partition} ${first}`
    if (this.#noted.has(name) || this.#noted.size === MOST_NOTED) return
    this.#noted.add(name)
    const { log: file, remedy } = this.#files
    this.#write(
      "error",
      { file, topic, partition, first_offset: first, end_offset: end },
      `${file} is damaged: Kafka clients that read these records get CORRUPT_MESSAGE; ${remedy}`,
    )
  }

  #noteUnread(reason: string): void {
    const { log: file } = this.#files
    const nowMs = steadyMs()
    if (nowMs - this.#unreadMs < UNREAD_MS) return
    this.#unreadMs = nowMs
    this.#write("error", { file, reason }, "Kafka clients get KAFKA_STORAGE_ERROR, and ask again")
  }

  readonly #failed = (err: unknown): void =>
    this.#write("error", { err }, "unhandled error while serving a Kafka client")

  #write(level: "info" | "warn" | "error", fields: object, text: string): void {
    this.#post({ kind: "log", level, fields, text })
  }

  #post(message: FromThread): void {
    this.#self.postMessage(message, [])
  }
}
