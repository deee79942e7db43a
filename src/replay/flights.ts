import type { StoredRecord } from "../brokers/broker.ts"
import type { ReplayFailure } from "./progress.ts"
import type { ReplayTarget } from "./target.ts"

/** A record that was read, and is not behind the job's position yet. */
export interface Flight {
  readonly record: StoredRecord
  /** Of the window. */
  readonly bytes: number
  /** `skipped`: it does not match, and is not sent. `stopped`: it has no answer, and will have none. */
  result: "open" | "delivered" | "skipped" | "stopped" | ReplayFailure
}

export function flightOf(record: StoredRecord, isSkipped: boolean): Flight {
  if (isSkipped) return { record, bytes: 0, result: "skipped" }
  return { record, bytes: record.value.length + (record.key?.length ?? 0), result: "open" }
}

/** So many records that do not match may lie behind one that is sent. */
const SKIPPED = 1000

/** Those of a job, in order. */
export class Flights {
  readonly #window: ReplayTarget["window"]
  readonly #all: Flight[] = []
  #sent = 0
  #bytes = 0

  constructor(window: ReplayTarget["window"]) {
    this.#window = window
  }

  get isEmpty(): boolean {
    return this.#all.length === 0
  }

  /** Whether an answer is missing that may still come. */
  get areOpen(): boolean {
    return this.#all.some(({ result }) => result === "open")
  }

  hasRoom({ bytes, result }: Flight): boolean {
    const { records, bytes: mostBytes } = this.#window
    if (result === "skipped") return this.#all.length < records + SKIPPED
    return this.#sent === 0 || (this.#sent < records && this.#bytes + bytes <= mostBytes)
  }

  add(flight: Flight): void {
    this.#all.push(flight)
    if (flight.result === "skipped") return
    this.#sent++
    this.#bytes += flight.bytes
  }

  /** Whether there are so many that those at the front should be taken, though they only do not match. */
  get isLong(): boolean {
    return this.#all.length >= SKIPPED
  }

  /** Takes those at the front that have a result. */
  takeLanded(): Flight[] {
    const at = this.#all.findIndex(({ result }) => result === "open" || result === "stopped")
    const landed = this.#all.splice(0, at < 0 ? this.#all.length : at)
    for (const { result, bytes } of landed) {
      if (result === "skipped") continue
      this.#sent--
      this.#bytes -= bytes
    }
    return landed
  }
}
