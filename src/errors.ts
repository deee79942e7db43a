/**
 * The codes of HooklineError. Expected outcomes (an invalid body, a dropped event) are values, see event.ts; faults are
 * thrown. `exit` is the exit status of the command line (sysexits.h), `retry` whether the same call may succeed later.
 */
export const FAULTS = {
  /** invalid configuration file or options given in code */
  config: { exit: 78, retry: false },
  /** invalid command line */
  usage: { exit: 64, retry: false },
  /** a named file does not exist or can't be read */
  no_input: { exit: 66, retry: false },
  /** the folder has no embedded log yet */
  no_log: { exit: 66, retry: true },
  /** can't listen on a port or address */
  listen: { exit: 69, retry: false },
  /** another process writes to the same embedded log */
  log_locked: { exit: 69, retry: true },
  /** the embedded log's files can't be read or written */
  log_io: { exit: 74, retry: true },
  /** a requested topic does not exist */
  no_topic: { exit: 69, retry: true },
  /** the broker is unreachable, or does not accept the record now */
  unavailable: { exit: 69, retry: true },
  /** the deadline passed before the acknowledgement */
  deadline: { exit: 69, retry: true },
  /** the record is larger than the broker accepts */
  record_too_large: { exit: 65, retry: false },
  /** the broker refuses the record or the client for good: authorization, an invalid topic name */
  refused: { exit: 77, retry: false },
  /** the broker or pipeline is closing */
  closing: { exit: 69, retry: true },
  /** a bug in Hookline or in a component */
  internal: { exit: 70, retry: false },
} as const

/** What went wrong; `retryHelps` of the error says whether the same call may succeed later. */
export type FaultCode = keyof typeof FAULTS

/** The error that Hookline throws. `message` is one actionable line, without secrets. */
export class HooklineError extends Error {
  readonly code: FaultCode

  constructor(code: FaultCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = "HooklineError"
    this.code = code
  }

  /** Exit status of the command line. */
  get exitCode(): number {
    return FAULTS[this.code].exit
  }

  /** Whether the same call may succeed later. */
  get retryHelps(): boolean {
    return FAULTS[this.code].retry
  }
}

/** What an option names can't be used: a file, a folder, an address. `message` begins with the option's name. */
export class OptionError extends HooklineError {
  /** As the file spells it. */
  readonly key: string
  /** The message without the option's name. */
  readonly text: string

  constructor(code: FaultCode, key: string, text: string, options?: { cause?: unknown }) {
    super(code, `${key}: ${text}`, options)
    this.name = "OptionError"
    this.key = key
    this.text = text
  }
}

/** Opens what an option names: what that throws is an OptionError of it. */
export function opening<T>(key: string, open: () => T): T {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof HooklineError) || error instanceof OptionError) throw error
    throw new OptionError(error.code, key, error.message, { cause: error })
  }
}

/** Why a record was not acknowledged. After `deadline` it may still appear in the log. */
export type PublishFault = Extract<
  FaultCode,
  "unavailable" | "deadline" | "record_too_large" | "refused" | "closing" | "log_io"
>

/** The rejection of `Broker.publish`. */
export class PublishError extends HooklineError {
  declare readonly code: PublishFault

  constructor(code: PublishFault, message: string, options?: { cause?: unknown }) {
    super(code, message, options)
    this.name = "PublishError"
  }
}
