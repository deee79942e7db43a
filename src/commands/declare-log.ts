import type { Command } from "commander"
import { configFlag, connectionFlag, jsonFlag, stateFlag, type StateFlags } from "./common-flags.ts"
import { addDetails } from "./details.ts"
import type { LogFlags } from "./log-choice.ts"

export function declareLog(program: Command): void {
  const log = program
    .command("log")
    .description("check, back up, restore or rescue embedded logs and spools")
    .helpCommand(false)
  addDetails(log.command("backup"), {
    notes: `It copies the embedded logs of the configuration with their consumer groups and dedupe keys, the positions of forwards,
handlers and replays, what is reconciled, the spools, and secrets that providers have sent, all as of one moment. The folder gets backup.json last: without
it the backup is not complete. Secrets and certificates that the configuration names are not copied, nor is the
configuration.`,
    example: "hookline log backup /backups/2026-11-23",
  })
    .description("copy logs, spools and what belongs to them to a new folder; also while Hookline runs")
    .argument("<folder>", "a new or empty folder")
    .addOption(configFlag())
    .addOption(stateFlag())
    .addOption(jsonFlag())
    .action(async (folder: string, flags: StateFlags) =>
      (await import("./log-backup.ts")).backUpLogs(folder, flags),
    )
  addDetails(log.command("restore"), {
    notes: `Files that exist are renamed to <name>.before-restore-<time>. The log begins a new leader epoch with the next event:
consumer groups that had read further continue with the first record after the restored ones.

A restore that was interrupted is continued by the same command. Until it has ended, Hookline opens none of the files.`,
    example: "hookline log restore /backups/2026-11-23",
  })
    .description("put the files of a backup or a rescue where they were; Hookline must not run")
    .argument("<folder>", "the folder of a backup or a rescue")
    .option("--without-lost", "also restore a rescue that lacks records which could not be read")
    .action(async (folder: string, flags: { readonly withoutLost?: true }) =>
      (await import("./log-restore.ts")).restoreLogs(folder, flags),
    )
  addDetails(log.command("check"), {
    notes: `It reads the whole log, and compares the checksum of every record. While Hookline runs it takes a quarter of the time of one
core and of the disk, and goes through the structure a table at a time; while it checks a table, the log's WAL grows with
every event.

Exit status: 0 if all records and the files beside the log can be read, 1 if some can't.`,
    example: "hookline log check",
  })
    .description(
      "read all records and pages of a log or spool, and print what is damaged; also while Hookline runs",
    )
    .addOption(configFlag())
    .addOption(connectionFlag())
    .addOption(jsonFlag())
    .action(async (flags: LogFlags) => (await import("./log-check.ts")).checkLog(flags))
  addDetails(log.command("rescue"), {
    notes: `The new log has the id, topics, offsets and times of the damaged one, with gaps where records can't be read.
Its consumer groups, dedupe keys, positions and ledgers are copied too, if they can be read. A spool's records keep their
order and times, and quarantined ones stay so. Nothing is changed in the damaged files: hookline log restore <folder> puts
the copy in their place, and where records are lost only with --without-lost.

Exit status: 0 if all records were copied, 1 if some can't be read.`,
    example: "hookline log rescue /data/rescued",
  })
    .description("copy what can be read of a damaged log or spool to a new folder; Hookline must not run")
    .argument("<folder>", "a new or empty folder")
    .addOption(configFlag())
    .addOption(connectionFlag())
    .addOption(jsonFlag())
    .action(async (folder: string, flags: LogFlags) =>
      (await import("./log-rescue.ts")).rescueLog(folder, flags),
    )
}
