import { OwnRecords } from "../brokers/own-records.ts"
import type { TopicPlace } from "../config/declarations.ts"
import type { Logger } from "../telemetry/log.ts"
import type { TokenName } from "./access.ts"
import type { Service } from "./service.ts"

/*
 * The audit of the admin API: each action, who made it and how it ended, is a line of the log, and also a record if
 * `audit_topic` is set. An action waits for neither: a record that can't be published is logged as an error.
 */

/** What an act is about: `pipeline`, `replay` and the like. */
export interface ActFields {
  readonly [name: string]: string | number
}

/** A request that changes something or shows secrets. */
export interface Act extends ActFields {
  /** Method and path. */
  readonly action: string
  readonly token: TokenName
  readonly remote_address: string
  /** Of the answer. */
  readonly status: number
}

type AuditLog = Pick<Logger, "info" | "warn">

/** @param topic undefined: there is none */
export function auditBy(log: AuditLog, topic: () => AuditTopic | undefined): (act: Act) => void {
  return (act) => {
    const outcome = act.status < 400 ? "done" : act.status < 500 ? "refused" : "failed"
    const line = { ...act, outcome }
    if (outcome === "done") log.info(line, "admin action")
    else log.warn(line, `admin action ${outcome}`)
    topic()?.add(line)
  }
}

/** Most records that wait while the broker is unavailable. */
const MAX_WAITING = 1000
/** All records have the same one, so that they keep their order. */
const KEY = Buffer.from("admin")

/** The topic that actions are published to. */
export class AuditTopic {
  readonly #topic: string
  readonly #records: OwnRecords
  readonly #log: Pick<Logger, "error">
  readonly #waiting = new Set<Promise<void>>()

  constructor({ connection, topic }: TopicPlace, service: Service, log: Pick<Logger, "error">) {
    this.#topic = topic
    this.#records = new OwnRecords(() => service.openBroker(connection))
    this.#log = log
  }

  add(act: Act): void {
    const record = { time: new Date().toISOString(), ...act }
    const lost = (err: unknown): void =>
      this.#log.error({ err, ...record, audit_topic: this.#topic }, "admin action not published")
    if (this.#waiting.size >= MAX_WAITING) return lost(new Error(`${MAX_WAITING} others wait for the broker`))
    const value = Buffer.from(JSON.stringify(record))
    const publishing = this.#records
      .publish({ topic: this.#topic, key: KEY, value })
      .catch(lost)
      .finally(() => this.#waiting.delete(publishing))
    this.#waiting.add(publishing)
  }

  /** Resolves when the records have been published, or lost. */
  async close(): Promise<void> {
    await Promise.all(this.#waiting)
    await this.#records.close()
  }
}
