import { Argument, Option, type Command } from "commander"
import { configFlag, jsonFlag } from "./common-flags.ts"
import { addDetails } from "./details.ts"
import { parseTimeFlag } from "./flag-values.ts"
import type { ReconcileFlags } from "./reconcile.ts"

export function declareReconcile(program: Command): void {
  addDetails(program.command("reconcile"), {
    notes: `A Hookline that runs with the section does this by itself, every \`every\`; then only --dry-run and --enable work here.
Without --since it begins where the last comparison was complete, or at \`window\`.

Exit status: 0 if everything that the sender lists has ended here for good, 1 if something is missing, 69 if the sender's
API can't be used, or another process reconciles.`,
    example: "hookline reconcile github --since 2h --dry-run",
  })
    .description(
      "compare what a sender lists with what it got delivered, and have it deliver again what is missing",
    )
    .addArgument(new Argument("<reconcile>", "id of a [reconcile:<id>] section"))
    .addOption(configFlag())
    .addOption(new Option("--since <time>", "what was sent from that time on").argParser(parseTimeFlag))
    .option("--dry-run", "only list and compare; ask for nothing, and keep nothing")
    .addOption(
      new Option("--enable", "enable the endpoint at the sender, and do nothing else").conflicts([
        "dryRun",
        "since",
      ]),
    )
    .addOption(jsonFlag("the comparison as JSON"))
    .action(async (id: string, flags: ReconcileFlags) =>
      (await import("./reconcile.ts")).reconcile(id, flags),
    )
}
