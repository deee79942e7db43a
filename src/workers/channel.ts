import type { Broker } from "../brokers/broker.ts"
import type { Joined, Peers } from "../dedupe/shared-ids.ts"
import { HooklineError, PublishError, type FaultCode, type PublishFault } from "../errors.ts"
import type { Receipt, Record } from "../record.ts"
import { steadyMs } from "../steady-clock.ts"
import { bytesOf, KINDS, readReceipts, recordsFrame, type Fault, type Outgoing, type Told } from "./frames.ts"
import { dataFrame, dataOf, kindOf, unknownFrame, Wire } from "./wire.ts"

/*
 * A record's states at the worker's end:
 *
 *   gathered  published in this turn of the event loop, at the end of which all that gathered is sent as one frame
 *   sent      waits for its receipt or fault
 *   late      its deadline passed and it was rejected. One that was sent counts until its answer comes, so that a
 *             supervisor that stands still is not sent more than it may be; one that was not is never sent.
 */
interface Waiting extends Outgoing {
  readonly resolve: (receipt: Receipt) => void
  readonly reject: (error: HooklineError) => void
  readonly bytes: number
  isLate: boolean
}

/** How late a deadline may be noticed that the supervisor did not keep. */
const SWEEP_MS = 20

/** A worker's end of the wire to the supervisor: publishes to the brokers that are open there, and tells the other workers. */
export class Channel implements Peers {
  /** Bytes of records that may be out at once. */
  maxBytes = 0
  readonly #waiting = new Map<number, Waiting>()
  #gathered: Waiting[] = []
  #told: Told[] = []
  readonly #hearing = new Map<string, (id: string, untilMs: number) => void>()
  #bytes = 0
  #next = 0
  #scheduled = false
  #earliestMs = Number.POSITIVE_INFINITY
  #sweep: Timer | undefined
  #wire: Wire | undefined
  /** Brokers that are closed when nothing of theirs is out any more. */
  readonly #closing = new Map<number, () => void>()

  /** @param fd the worker's end of a pair of sockets */
  static async open(fd: number): Promise<Channel> {
    const channel = new Channel()
    channel.#wire = await Wire.open(fd, {
      frame: (frame) => channel.#receive(frame),
      closed: () => channel.#closed(),
    })
    return channel
  }

  /** The broker of a number, as far as it is reached from here. */
  broker(number: number): Broker {
    let closing = false
    return {
      publish: (record, deadlineMs) =>
        closing
          ? Promise.reject(new PublishError("closing", "the connection is closing"))
          : this.#publish(number, record, deadlineMs),
      prepare: (topics) => this.#wire?.send(dataFrame(KINDS.topics, [number, topics])),
      ready: () => (this.#wire === undefined ? GONE : true),
      close: () => {
        closing = true
        return new Promise((resolve) => {
          this.#closing.set(number, resolve)
          this.#endClosing()
        })
      },
    }
  }

  join(name: string, hear: (id: string, untilMs: number) => void): Joined {
    this.#hearing.set(name, hear)
    return {
      tell: (id, untilMs) => {
        this.#told.push([name, id, untilMs])
        this.#schedule()
      },
      leave: () => {
        if (this.#hearing.get(name) === hear) this.#hearing.delete(name)
      },
    }
  }

  // Hot path.
  #publish(broker: number, record: Record, deadlineMs: number): Promise<Receipt> {
    if (this.#wire === undefined) return Promise.reject(new PublishError("unavailable", GONE))
    const bytes = bytesOf(record)
    if (this.#bytes > 0 && this.#bytes + bytes > this.maxBytes) return Promise.reject(FULL)
    return new Promise((resolve, reject) => {
      const number = this.#next
      this.#next = (number + 1) >>> 0
      const waiting = { number, broker, record, deadlineMs, resolve, reject, bytes, isLate: false }
      this.#waiting.set(number, waiting)
      this.#gathered.push(waiting)
      this.#bytes += bytes
      this.#schedule()
      if (deadlineMs < this.#earliestMs) this.#earliestMs = deadlineMs
      if (this.#sweep === undefined) this.#sweep = setTimeout(this.#expire, SWEEP_MS)
    })
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#scheduled = false
    const gathered = this.#gathered.filter(({ isLate }) => !isLate)
    this.#gathered = []
    if (gathered.length > 0) this.#wire?.send(recordsFrame(steadyMs(), gathered))
    if (this.#told.length > 0) this.#wire?.send(dataFrame(KINDS.ids, this.#told))
    this.#told = []
  }

  #receive(frame: Buffer): void {
    switch (kindOf(frame)) {
      case KINDS.receipts:
        return readReceipts(frame, (number, receipt) => this.#take(number)?.resolve(receipt))
      case KINDS.faults:
        for (const [number, code, message] of dataOf<Fault[]>(frame))
          this.#take(number)?.reject(faultOf(code, message))
        return
      case KINDS.ids:
        for (const [name, id, untilMs] of dataOf<Told[]>(frame)) this.#hearing.get(name)?.(id, untilMs)
        return
      default:
        throw unknownFrame(frame)
    }
  }

  #take(number: number): Waiting | undefined {
    const waiting = this.#waiting.get(number)
    if (waiting === undefined) return undefined
    this.#waiting.delete(number)
    this.#bytes -= waiting.bytes
    if (this.#closing.size > 0) this.#endClosing()
    return waiting.isLate ? undefined : waiting
  }

  /** Rejects what is past its deadline; goes on as long as anything waits. */
  readonly #expire = (): void => {
    this.#sweep = undefined
    if (this.#waiting.size === 0) return
    const nowMs = steadyMs()
    if (nowMs >= this.#earliestMs) {
      this.#earliestMs = Number.POSITIVE_INFINITY
      for (const waiting of this.#waiting.values()) {
        if (waiting.isLate) continue
        if (waiting.deadlineMs > nowMs) this.#earliestMs = Math.min(this.#earliestMs, waiting.deadlineMs)
        else this.#tooLate(waiting)
      }
    }
    this.#sweep = setTimeout(this.#expire, SWEEP_MS)
  }

  #tooLate(waiting: Waiting): void {
    if (this.#gathered.includes(waiting)) this.#take(waiting.number)
    waiting.isLate = true
    waiting.reject(new PublishError("deadline", "the supervisor did not answer in time"))
  }

  #closed(): void {
    this.#wire = undefined
    for (const number of this.#waiting.keys())
      this.#take(number)?.reject(new PublishError("unavailable", GONE))
  }

  #endClosing(): void {
    const used = new Set(this.#waiting.values().map(({ broker }) => broker))
    for (const [broker, resolve] of this.#closing) {
      if (used.has(broker)) continue
      this.#closing.delete(broker)
      resolve()
    }
  }
}

const GONE = "the supervisor, which has the log, has ended"

const FULL = new PublishError("unavailable", "too much waits for the supervisor, which has the log")

const PUBLISH_FAULTS: ReadonlySet<string> = new Set<PublishFault>([
  "unavailable",
  "deadline",
  "record_too_large",
  "refused",
  "closing",
  "log_io",
])

const faultOf = (code: string, message: string): HooklineError =>
  PUBLISH_FAULTS.has(code)
    ? new PublishError(code as PublishFault, message)
    : new HooklineError(code as FaultCode, message)
