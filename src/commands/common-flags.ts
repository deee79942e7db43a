import { Option } from "commander"

/** Flags that several commands have. Commander changes an option that it is given, so each command gets its own. */

export const configFlag = (): Option =>
  new Option(
    "-c, --config <file>",
    "the configuration file (default: $HOOKLINE_CONFIG, else ./pipelines.conf)",
  )

export const connectionFlag = (): Option =>
  new Option("--connection <connection>", "id of the connection whose log to read, if there are several")

export const stateFlag = (): Option =>
  new Option(
    "--state <folder>",
    "where positions are kept; default: .hookline next to the configuration file",
  )

export const jsonFlag = (what = "JSON"): Option => new Option("--json", `print ${what}`)

export interface ConfigFlags {
  readonly config?: string
}
