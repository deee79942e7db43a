import type { Command } from "commander"
import { ConsumerGroups, type GroupOverview } from "../admin/api/shapes.ts"
import { HooklineError } from "../errors.ts"
import { escapeControls } from "../telemetry/escape-controls.ts"
import { configFlag, jsonFlag, type ConfigFlags } from "./common-flags.ts"
import { addDetails } from "./details.ts"
import { printTable } from "./table.ts"

/** Declares `hookline groups`. */
export function declareGroups(program: Command): void {
  addDetails(program.command("groups"), {
    notes: `It asks the admin API of the Hookline that runs with this configuration, with its token. Lag is the number of
records from a group's position to the end of the topic. Groups are those of topics that the configuration publishes to or reads.`,
    example: "hookline groups",
  })
    .description("list the consumer groups of the pipelines' topics, those furthest behind first")
    .addOption(configFlag())
    .addOption(jsonFlag("JSON: the groups of the admin API"))
    .action(groups)
}

/** @throws HooklineError `config`, `no_input`; `unavailable` where no Hookline answers, or a connection does not */
async function groups({ config, json }: ConfigFlags & { readonly json?: true }): Promise<void> {
  const { RunningService } = await import("./running-service.ts")
  const listed = await new RunningService(config).get("/api/groups", ConsumerGroups)
  if (listed === undefined)
    throw new HooklineError("unavailable", "the running Hookline lists no groups; is it another version?")
  if (json) console.log(escapeControls(JSON.stringify(listed)))
  else print(listed)
  if (listed.problems.length === 0) return
  const problems = listed.problems.map(({ connection, problem }) => `${connection}: ${problem}`)
  throw new HooklineError("unavailable", problems.join("\n"))
}

function print({ groups: rows, left_out }: ConsumerGroups): void {
  printTable([["GROUP", "TOPIC", "LAG", "MEMBERS", "STATE"], ...rows.map(cellsOf)], [0, 1, 4])
  if (left_out > 0) console.log(`and ${left_out} more, with less lag`)
}

const cellsOf = ({ group, connection, topic, lag, members, state }: GroupOverview): string[] => [
  group,
  `${connection}/${topic}`,
  `${lag}`,
  `${members ?? "-"}`,
  state,
]
