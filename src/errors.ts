/**
 * What can go wrong, as one kind of error with a code.
 *
 * Expected outcomes (an invalid body, a dropped event) are values, see event.ts; what is thrown is a fault.
 * `exit` is the exit status of the command line (sysexits.h), `retry` says whether the same call may succeed later.
 */
const FAULTS = {
  /** the configuration file or the options given in code are wrong */
  config: { exit: 78, retry: false },
  /** the command line is wrong */
  usage: { exit: 64, retry: false },
  /** a file that was named does not exist or can't be read */
  no_input: { exit: 66, retry: false },
  /** a port or address can't be listened on */
  listen: { exit: 69, retry: false },
  /** another process writes to the same embedded log */
  log_locked: { exit: 69, retry: true },
  /** the embedded log's files can't be read or written */
  log_io: { exit: 74, retry: true },
  /** a topic that was asked for does not exist */
  no_topic: { exit: 69, retry: true },
  /** the broker can't be reached, or does not take the record now */
  unavailable: { exit: 69, retry: true },
  /** the deadline passed before the acknowledgement */
  deadline: { exit: 69, retry: true },
  /** the record is larger than the broker takes */
  record_too_large: { exit: 65, retry: false },
  /** the broker refuses the record or the client for good: authorization, an invalid topic name */
  refused: { exit: 77, retry: false },
  /** the broker or pipeline is closing */
  closing: { exit: 69, retry: true },
  /** a mistake in Hookline or in a component */
  internal: { exit: 70, retry: false },
} as const

export type FaultCode = keyof typeof FAULTS

/** The one error that Hookline throws. `message` is one line that a person can act on, without secrets. */
export class HooklineError extends Error {
  readonly code: FaultCode

  constructor(code: FaultCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = "HooklineError"
    this.code = code
  }

  /** Exit status of the command line when this error ends it. */
  get exitCode(): number {
    return FAULTS[this.code].exit
  }

  /** Whether the same call may succeed later. */
  get retryHelps(): boolean {
    return FAULTS[this.code].retry
  }
}

/** Why a record was not acknowledged. After `deadline` the record may appear in the log all the same. */
export type PublishFault = Extract<
  FaultCode,
  "unavailable" | "deadline" | "record_too_large" | "refused" | "closing" | "log_io"
>

/** What `Broker.publish` rejects with. */
export class PublishError extends HooklineError {
  declare readonly code: PublishFault

  constructor(code: PublishFault, message: string, options?: { cause?: unknown }) {
    super(code, message, options)
    this.name = "PublishError"
  }
}
