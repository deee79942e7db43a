import type { Command, Option } from "commander"
import type { LogReader } from "../brokers/broker.ts"
import type { Surroundings } from "./host.ts"

/** One section as an extension plans it; other sections may be wrong, and their secrets missing. */
export interface PlannedSection<P> extends Surroundings {
  readonly planned: P
  /** Opens a connection's log for reading; to be closed. @throws HooklineError */
  openReader(connection: string): Promise<LogReader>
}

/** The command line that an extension's commands are declared in. */
export interface CommandHost<P = unknown> {
  /** Adds notes and an example to a command's help and its part of the man page. */
  addDetails(command: Command, details: { readonly notes?: string; readonly example: string }): Command
  configFlag(): Option
  jsonFlag(what?: string): Option
  /** Parses a duration ago, a time of day or a date: milliseconds since 1970. */
  parseTime(text: string): number
  /** Plans a section of a configuration file. @throws HooklineError `usage` for an unknown id, `config`, `no_input` */
  plan(file: string | undefined, id: string): Promise<PlannedSection<P>>
  /** Works until SIGINT or SIGTERM aborts the signal, whose exit status the process has then. */
  untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<void>
}
