import { Option } from "commander"

/** Collects the values of a repeated flag. */
export const repeatable = (value: string, before: readonly string[] = []): string[] => [...before, value]

/** Flags that several commands have. Commander changes an option that it is given, so each command gets its own. */

export const configFlag = (): Option =>
  new Option(
    "-c, --config <file>",
    "the configuration file (default: $HOOKLINE_CONFIG, else ./pipelines.conf)",
  )

export const componentsFlag = (): Option =>
  new Option(
    "--components <file>",
    "a module whose components sections of the file name; repeatable (default: $HOOKLINE_COMPONENTS, separated by colons)",
  ).argParser(repeatable)

export const connectionFlag = (
  meaning = "id of the connection whose log to read, if there are several",
): Option => new Option("--connection <connection>", meaning)

export const stateFlag = (): Option =>
  new Option(
    "--state <folder>",
    "where positions are kept; default: .hookline next to the configuration file",
  )

export const jsonFlag = (what = "JSON"): Option => new Option("--json", `print ${what}`)

export interface ConfigFlags {
  readonly config?: string
}

/** Of commands for positions. */
export interface StateFlags extends ConfigFlags {
  readonly state?: string
  readonly json?: true
}
