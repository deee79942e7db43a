import { createReadStream } from "node:fs"
import { createInterface } from "node:readline"

/** What its pipeline does with an event that is posted again. */
export type Delivery =
  /** Each request publishes. */
  | "plain"
  /** After an acknowledgement no request publishes. */
  | "deduplicated"
  /** Through a spool, which may repeat events: docs/spool.md. */
  | "spooled"

/** What a run was asked for. */
export interface Run {
  readonly seed: number
  readonly minutes: number
  /** Events of all topics, if none is held up. */
  readonly perSecond: number
}

/** A line of a history. Times are milliseconds since its start. */
export type Op = { readonly t: number } &
  /** The first line. */
  (
    | ({ readonly f: "run"; readonly topics: { readonly [topic: string]: Delivery } } & Run)
    /** An event is posted: its number, which no other has, and the how-manieth time this is, from 1. */
    | {
        readonly f: "send"
        readonly type: "invoke"
        readonly topic: string
        readonly key: string
        readonly n: number
        readonly attempt: number
      }
    /** What became of that. `fail`: not published, for certain; `info`: that is not known. */
    | {
        readonly f: "send"
        readonly type: "ok" | "fail" | "info"
        readonly n: number
        readonly attempt: number
        readonly answer: number | string
      }
    /** Where Hookline says that an attempt was stored. */
    | {
        readonly f: "receipt"
        readonly n: number
        readonly attempt: number
        readonly topic: string
        readonly partition: number
        readonly offset: number
      }
    /** A reader begins at an offset. `final`: once, behind all faults, to the end. */
    | {
        readonly f: "assign"
        readonly reader: "continuous" | "final"
        readonly topic: string
        readonly partition: number
        readonly offset: number
      }
    /** Records as they came, the number -1 where it is no event. */
    | {
        readonly f: "poll"
        readonly reader: "continuous" | "final"
        readonly topic: string
        readonly partition: number
        readonly records: readonly (readonly [offset: number, n: number, key: string])[]
      }
    | {
        readonly f: "fault"
        readonly type: "begin" | "end" | "note"
        readonly kind: string
        readonly on: string
      }
  )

/** An operation before its time is known. */
export type Untimed<Each extends Op = Op> = Each extends Op ? Omit<Each, "t"> : never

/** A history on disk, a line each; it holds no more than a buffer in memory. */
export class HistoryFile implements AsyncDisposable {
  readonly path: string
  readonly #writer: Bun.FileSink
  readonly #nowMs: () => number
  readonly #startMs: number

  constructor(path: string, nowMs: () => number) {
    this.path = path
    this.#writer = Bun.file(path).writer({ highWaterMark: 1 << 20 })
    this.#nowMs = nowMs
    this.#startMs = nowMs()
  }

  /** Milliseconds since the start. */
  get t(): number {
    return Math.round(this.#nowMs() - this.#startMs)
  }

  add(op: Untimed): void {
    this.#writer.write(`${JSON.stringify({ t: this.t, ...op })}\n`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer.end()
  }
}

/** The operations of a history on disk, one at a time. */
export async function* readHistory(path: string): AsyncGenerator<Op> {
  for await (const line of createInterface({ input: createReadStream(path) })) yield JSON.parse(line) as Op
}
