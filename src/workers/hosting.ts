import type { Broker } from "../brokers/broker.ts"
import { HooklineError } from "../errors.ts"
import type { Receipt } from "../record.ts"
import { steadyMs } from "../steady-clock.ts"
import type { Logger } from "../telemetry/log.ts"
import { ClockDifference } from "./clock-difference.ts"
import { KINDS, readRecords, receiptsFrame, type Answer, type Fault, type Outgoing } from "./frames.ts"
import { dataFrame, dataOf, kindOf, unknownFrame, Wire } from "./wire.ts"

export interface Host {
  /** The broker of a number; undefined: it is closed. */
  readonly broker: (number: number) => Broker | undefined
  /** Passes a frame on to the other workers. */
  readonly passOn: (frame: Buffer) => void
  readonly log: Logger
}

/**
 * The supervisor's end of the wire to one worker: publishes what comes, in its order, and sends the answers back, all of
 * those that one batch of the broker brings as one frame.
 */
export class Hosting {
  readonly #host: Host
  readonly #clocks = new ClockDifference()
  #answers: Answer[] = []
  #faults: Fault[] = []
  #scheduled = false
  #wire: Wire | undefined

  private constructor(host: Host) {
    this.#host = host
  }

  /** @param fd the supervisor's end of a pair of sockets */
  static async open(fd: number, host: Host): Promise<Hosting> {
    const hosting = new Hosting(host)
    hosting.#wire = await Wire.open(fd, {
      frame: (frame) => hosting.#receive(frame),
      // of what is on its way nobody is told any more
      closed: () => {},
    })
    return hosting
  }

  send(frame: Buffer): void {
    this.#wire?.send(frame)
  }

  close(): void {
    this.#wire?.close()
  }

  #receive(frame: Buffer): void {
    switch (kindOf(frame)) {
      case KINDS.records:
        return readRecords(frame, this.#publish, (sentMs) => this.#clocks.came(sentMs, steadyMs()))
      case KINDS.topics: {
        const [number, topics] = dataOf<[number, string[]]>(frame)
        this.#host.broker(number)?.prepare(topics)
        return
      }
      case KINDS.ids:
        return this.#host.passOn(frame)
      default:
        throw unknownFrame(frame)
    }
  }

  readonly #publish = ({ number, broker: which, record, deadlineMs }: Outgoing): void => {
    const broker = this.#host.broker(which)
    if (broker === undefined)
      return this.#fault(number, new HooklineError("closing", "the connection is closed"))
    broker.publish(record, this.#clocks.toOwn(deadlineMs)).then(
      (receipt) => this.#answer(number, receipt),
      (error: unknown) => this.#fault(number, error),
    )
  }

  #answer(number: number, receipt: Receipt): void {
    this.#answers.push({ number, receipt })
    this.#schedule()
  }

  #fault(number: number, error: unknown): void {
    if (error instanceof HooklineError) this.#faults.push([number, error.code, error.message])
    else {
      this.#host.log.error({ err: error }, "an event was not published because of a fault")
      this.#faults.push([number, "internal", "a fault in the supervisor, whose log tells it"])
    }
    this.#schedule()
  }

  /** A batch's answers come in one turn, and go before anything else is done in it. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      if (this.#answers.length > 0) this.send(receiptsFrame(this.#answers))
      if (this.#faults.length > 0) this.send(dataFrame(KINDS.faults, this.#faults))
      this.#answers = []
      this.#faults = []
    })
  }
}
