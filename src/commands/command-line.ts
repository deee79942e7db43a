import { Command, CommanderError } from "commander"
import manifest from "../../package.json" with { type: "json" }
import { FAULTS, HooklineError } from "../errors.ts"
import { componentsFlag, configFlag, type ConfigFlags } from "./common-flags.ts"
import { addDetails } from "./details.ts"
import type { ComponentFlags } from "./own-components.ts"
import { columns, wrap } from "./wrap.ts"

// What `hookline run` needs of the command line: the other commands are declared where one of them is called, so that a
// service neither waits for them nor keeps them in memory.

/** Runs what a command line says. @param words without the program's name; @throws HooklineError and faults */
export async function runCommandLine(words: readonly string[]): Promise<void> {
  let called: Command | undefined
  try {
    const program = ["run", "worker"].includes(words[0]!) ? serviceAlone() : await whole(words)
    program.hook("preAction", (_, command) => void (called = command))
    await program.parseAsync(words, { from: "user" })
  } catch (error) {
    if (called !== undefined && error instanceof HooklineError && error.code === "usage")
      throw new HooklineError("usage", `${error.message}\n(see ${nameOf(called)} --help)`, { cause: error })
    // it has printed its message
    if (!(error instanceof CommanderError)) throw error
    process.exitCode = error.exitCode === 0 ? 0 : FAULTS.usage.exit
  }
}

/** `hookline log backup` */
const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`

function serviceAlone(): Command {
  const program = emptyProgram()
  declareRun(program)
  pointToHelp(program)
  return program
}

/** @throws HooklineError `usage` */
async function whole(words: readonly string[]): Promise<Command> {
  const { declareProgram, refuseUnknownCommand } = await import("./program.ts")
  const program = declareProgram()
  await refuseUnknownCommand(program, words)
  return program
}

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

/** The errors of each command name its own help. */
export function pointToHelp(command: Command, name = "hookline"): void {
  command.showHelpAfterError(`(see ${name} --help)`)
  for (const it of command.commands) pointToHelp(it, `${name} ${it.name()}`)
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
  program.command("worker", { hidden: true }).action(async () => {
    const { loadComponents } = await import("./own-components.ts")
    return (await import("../runtime/workers/worker.ts")).work(
      async () => (await loadComponents({})).components,
    )
  })
}
