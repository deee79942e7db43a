import { Command } from "commander"
import manifest from "../../package.json" with { type: "json" }
import { componentsFlag, configFlag, type ConfigFlags } from "./common-flags.ts"
import { addDetails } from "./details.ts"
import type { ComponentFlags } from "./own-components.ts"
import { columns, wrap } from "./wrap.ts"

// What `hookline run` needs of the command line.

/** The command line without its commands. */
export function emptyProgram(): Command {
  return (
    new Command("hookline")
      .description(
        "Receives webhooks, validates and enriches them, and publishes each one durably to a topic.",
      )
      .version(manifest.version)
      .helpCommand(false)
      .configureHelp({ minWidthToWrap: 20 })
      // as the errors of everything else
      .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "")) })
      .addHelpText(
        "after",
        () =>
          `\n${wrap("hookline help COMMAND explains a command; docs/command-line.md and the manual page have the exit statuses.", columns())}`,
      )
      .exitOverride()
      // otherwise a command's own option gets the value that is written after a subcommand with an option of that name
      .enablePositionalOptions()
  )
}

/** `hookline log backup` */
export const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`

/** The errors of each command name its own help. */
export function pointToHelp(command: Command): void {
  command.showHelpAfterError(`(see ${nameOf(command)} --help)`)
  for (const it of command.commands) pointToHelp(it)
}

export function declareRun(program: Command): void {
  addDetails(program.command("run", { isDefault: true }), {
    notes: `SIGHUP reloads the file with its secrets, certificates and schemas, without refusing or losing a request. A configuration
with an error is logged and changes nothing.

SIGTERM and SIGINT stop gracefully: new requests are refused, accepted events are published and answered within
drain_timeout, and the exit status is 0. A second signal exits at once; the same one within two seconds counts as one.`,
    example: "hookline run --watch -c /etc/hookline/pipelines.conf",
  })
    .description("run the pipelines of the configuration file until SIGTERM or SIGINT (the default command)")
    .addOption(configFlag())
    .addOption(componentsFlag())
    .option(
      "-w, --watch",
      "reload when the configuration file, or one that it includes or references, changes",
    )
    .action(async (options: ConfigFlags & ComponentFlags & { watch?: true }) =>
      (await import("./run.ts")).run(options),
    )
}
