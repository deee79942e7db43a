import { messageInFile, type Message } from "./message.ts"

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

/** What keeps a start, a check or a reload from succeeding, by names: docs/errors.md has a section for each. */
export const START_ERRORS = [
  "invalid_line",
  "unknown_section",
  "unknown_key",
  "duplicate_section",
  "duplicate_key",
  "missing_key",
  "conflicting_keys",
  "invalid_value",
  "unset_variable",
  "invalid_configuration",
  "no_configuration",
  "file_unreadable",
  "no_permission",
  "port_in_use",
  "port_not_permitted",
  "address_not_local",
  "not_listening",
  "too_few_descriptors",
  "log_locked",
  "log_not_opened",
  "package_missing",
] as const

export type StartError = (typeof START_ERRORS)[number]

/** The kinds of problem that an option can have. */
export type OptionProblem = Extract<StartError, "invalid_value" | "missing_key" | "conflicting_keys">

/** The error that Hookline throws. `message` is one actionable line, without secrets; several problems have a line each. */
export class HooklineError extends Error {
  readonly code: FaultCode
  /** @internal One for each line of the message; undefined: see `namesOf`. */
  declare readonly names?: readonly StartError[]

  constructor(
    code: FaultCode,
    message: string,
    { names, ...options }: { cause?: unknown; names?: readonly StartError[] } = {},
  ) {
    super(message, options)
    this.name = "HooklineError"
    this.code = code
    if (names !== undefined) this.names = names
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

/**
 * An error's names, one for each line of its message; none where it is not one that keeps a start from succeeding. Not a
 * method: hookline/verify, which has the class, does without.
 */
export const namesOf = (error: HooklineError): readonly StartError[] =>
  error.names ?? nameBySystem(error) ?? NAMES[error.code] ?? []

/** By code, where the system's error says no more. */
const NAMES: { readonly [code in FaultCode]?: readonly StartError[] } = {
  config: ["invalid_configuration"],
  listen: ["not_listening"],
  log_locked: ["log_locked"],
  log_io: ["log_not_opened"],
}

/** By the code of the system's error that is the cause, if it is one. */
function nameBySystem({ code, cause }: HooklineError): readonly StartError[] | undefined {
  if (cause instanceof HooklineError) return namesOf(cause)
  const { code: system } = Object(cause) as { readonly code?: unknown }
  if (typeof system !== "string" || !/^E[A-Z]+$/.test(system)) return undefined
  if (code === "listen") return LISTEN_NAMES[system]
  if (!["config", "no_input", "log_io"].includes(code)) return undefined
  if (["EACCES", "EPERM", "EROFS"].includes(system)) return ["no_permission"]
  return code === "log_io" ? undefined : ["file_unreadable"]
}

const LISTEN_NAMES: { readonly [system: string]: readonly StartError[] | undefined } = {
  EADDRINUSE: ["port_in_use"],
  EACCES: ["port_not_permitted"],
  EADDRNOTAVAIL: ["address_not_local"],
}

/** What an option names can't be used: a file, a folder, an address. `message` begins with the option's name, as in the file. */
export class OptionError extends HooklineError {
  /** As the file spells it. */
  readonly key: string
  /** The message without the option's name. */
  readonly text: Message

  constructor(code: FaultCode, key: string, text: Message, options?: { cause?: unknown }) {
    super(code, `${key}: ${messageInFile(text)}`, options)
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
