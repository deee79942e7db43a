import type { Command } from "commander"
import { escapeControls } from "../telemetry/escape-controls.ts"
import { configFlag, type ConfigFlags } from "./common-flags.ts"
import { addDetails } from "./details.ts"

interface ReloadFlags extends ConfigFlags {
  readonly all?: true
}

/** Declares `hookline reload`. */
export function declareReload(program: Command): void {
  addDetails(program.command("reload"), {
    notes: `It asks the admin API of the Hookline that runs with this configuration, with its token. With --all the other replicas
are reloaded one after the other, then this one; it stops at the first that refuses the configuration or does not answer
the request. Replicas that are left out already are named, and not asked.

Exit status: 0 if all asked for have reloaded, 1 if not, 69 if no Hookline answers.`,
    example: "hookline reload --all",
  })
    .description("have the running Hookline read its configuration again, as SIGHUP does")
    .addOption(configFlag())
    .option("--all", "reload all replicas of [admin] replicas, one after the other")
    .action(reload)
}

/** @throws HooklineError `config`, `no_input`, `unavailable` */
async function reload({ config, all }: ReloadFlags): Promise<void> {
  const [{ RunningService }, { Reloaded }] = await Promise.all([
    import("./running-service.ts"),
    import("../admin/api/shapes.ts"),
  ])
  const service = new RunningService(config)
  const overview = await service.overview("?pipelines=false")
  const own = { host: overview.host, replica: undefined, problem: null }
  // this one last: a new replicas_token takes effect with its reload, and the others still have the old one
  const replicas = all ? [...overview.replicas, own] : [own]
  for (const [at, { host, replica, problem }] of replicas.entries()) {
    const name =
      replica === undefined ? `${host} (this one)` : `${replica}${host === null ? "" : ` (${host})`}`
    const say = (outcome: string): void => console.log(`${name}: ${escapeControls(outcome)}`)
    if (problem !== null) {
      say(`not asked, it is left out: ${problem}`)
      process.exitCode = 1
      continue
    }
    const query = replica === undefined ? "" : `?replica=${encodeURIComponent(replica)}`
    const { status, value, detail } = await service.ask(`/api/reload${query}`, Reloaded, "POST")
    if (value === undefined) {
      const isRefused = status === 409
      say(isRefused ? "refused, and runs its configuration as before:" : `not reloaded: ${detail}`)
      if (isRefused) for (const line of detail.split("\n")) console.log(`  ${escapeControls(line)}`)
      const left = replicas.length - at - 1
      if (left > 0) console.log(`stopped: ${left} more not asked`)
      process.exitCode = 1
      return
    }
    say(`reloaded; ${value.changed.join("; ") || "nothing has changed"}`)
  }
}
