import type { Command } from "commander"
import type { CommandHost } from "../command-host.ts"
import type { ReconcileFlags } from "./command.ts"
import type { PlannedReconcile } from "./plan.ts"

/** Declares `hookline reconcile`. */
export function declareReconcile(program: Command, host: CommandHost<PlannedReconcile>): void {
  host
    .addDetails(program.command("reconcile"), {
      notes: `A Hookline that runs with the section does this by itself, every \`every\`; then only --dry-run and --enable work here.
Without --since it begins where the last comparison was complete, or at \`window\`.

Exit status: 0 if everything that the sender lists has ended here for good, 1 if something is missing, 69 if the sender's
API can't be used, or another process reconciles.`,
      example: "hookline reconcile github --since 2h --dry-run",
    })
    .description(
      "compare what a sender lists with what it got delivered, and have it deliver again what is missing",
    )
    .addArgument(program.createArgument("<reconcile>", "id of a [reconcile:<id>] section"))
    .addOption(host.configFlag())
    .addOption(
      program
        .createOption("--since <time>", "what was sent from that time on")
        .argParser((text) => host.parseTime(text)),
    )
    .option("--dry-run", "only list and compare; ask for nothing, and keep nothing")
    .addOption(
      program
        .createOption("--enable", "enable the endpoint at the sender, and do nothing else")
        .conflicts(["dryRun", "since"]),
    )
    .addOption(host.jsonFlag("the comparison as JSON"))
    .action(async (id: string, flags: ReconcileFlags) =>
      (await import("./command.ts")).reconcile(id, flags, host),
    )
}
