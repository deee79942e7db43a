import { Argument, type Command, Option } from "commander"
import manifest from "../../package.json" with { type: "json" }
import { suggest } from "../words.ts"
import { HooklineError } from "../errors.ts"
import type { CheckFlags } from "./check.ts"
import { componentsFlag, configFlag, jsonFlag, repeatable, type ConfigFlags } from "./common-flags.ts"
import { SHELLS, type Shell } from "./completion-scripts.ts"
import { declareRun, emptyProgram, nameOf, pointToHelp } from "./declare-run.ts"
import { addDetails } from "./details.ts"
import { declareDev } from "./dev.ts"
import { parseSeconds } from "./flag-values.ts"
import { declareExtensions } from "./extension-commands.ts"
import { declareHealth } from "./health.ts"
import { declareDb } from "./db.ts"
import { declareLog } from "./declare-log.ts"
import { declareReading } from "./declare-reading.ts"
import type { InitFlags } from "./init.ts"
import { declareForward, declareReplay } from "./declare-replay.ts"
import { declareProblems } from "./problems.ts"
import { declareReload } from "./reload.ts"
import { declareSend } from "./send.ts"
import { declareGroups } from "./groups.ts"
import { declareStatus } from "./status.ts"
import { declareVerify } from "./verify.ts"
import { columns, wrap } from "./wrap.ts"

// Commands that need the Kafka client are imported when called: it takes 0.3 s to load, which `verify`, `send` and --help
// do without. The names of values (`<file>`, `<topic>`, …) say what shells complete them with: complete.ts.

/** Declares the command line. Help, completion and the man page are made from this. */
export function declareProgram(): Command {
  const program = emptyProgram().addOption(ofEveryCommand())
  declareRun(program)
  declareCheck(program)
  declareDev(program)
  declareInit(program)
  declareReading(program)
  declareLog(program)
  declareDb(program)
  declareSpool(program)
  declareVerify(program)
  declareSend(program)
  declareReplay(program)
  declareForward(program)
  declareExtensions(program)
  declareReload(program)
  declareHealth(program)
  declareGroups(program)
  declareStatus(program)
  declareProblems(program)
  declareMcp(program)
  declareHelp(program)
  for (const command of [program, ...program.commands]) {
    command.hook("preSubcommand", handOptionsDown)
    // on its way to a subcommand
    const isGroup = command.commands.length > 0 && !hasOption(command, "--config")
    if (isGroup) command.addOption(configFlag().hideHelp())
  }
  pointToHelp(program)
  return program
}

const ofEveryCommand = (): Option => {
  const option = configFlag()
  option.description += ", before or after the command's name"
  return option
}

const hasOption = ({ options }: Command, long: string | undefined): boolean =>
  options.some((it) => it.long === long)

/** Options before a subcommand's name are the subcommand's. It throws CommanderError for one that it does not have. */
function handOptionsDown(command: Command, subcommand: Command): void {
  for (const option of command.options) {
    const name = option.attributeName()
    if (command.getOptionValueSource(name) !== "cli") continue
    if (!hasOption(subcommand, option.long))
      subcommand.error(`${nameOf(subcommand)} has no option ${option.long}`)
    subcommand.setOptionValueWithSource(name, command.getOptionValue(name), "cli")
  }
}

/**
 * Refuses a command that does not exist, with the nearest one, before its options are parsed.
 *
 * @param words those of the command line, without the program's name
 * @throws HooklineError `usage`
 */
export async function refuseUnknownCommand(program: Command, words: readonly string[]): Promise<void> {
  const [first, ...others] = afterConfig(words)
  if (first !== "help") findCommand(program, first === undefined ? [] : [first, ...others])
  else if ((await explainErrors(others)) === undefined) findCommand(program, others)
}

/** The words after a configuration file that is named first. */
function afterConfig(words: readonly string[]): readonly string[] {
  const [first = ""] = words
  if (first === "-c" || first === "--config") return words.slice(2)
  return /^(-c.|--config=)/.test(first) ? words.slice(1) : words
}

/** The command that the first words name. */
function findCommand(program: Command, words: readonly string[]): Command {
  let command = program
  let name = "hookline"
  for (const word of words) {
    if (word.startsWith("-") || command.commands.length === 0) break
    const found = command.commands.find((it) => it.name() === word)
    if (found === undefined && command.registeredArguments.length > 0) break
    if (found === undefined) {
      const names = command
        .createHelp()
        .visibleCommands(command)
        .map((it) => it.name())
      throw new HooklineError(
        "usage",
        `unknown command ${JSON.stringify(word)}${suggest(word, names, (it) => `"${it}"`)}\n(see ${name} --help)`,
      )
    }
    command = found
    name += ` ${word}`
  }
  return command
}

function declareCheck(program: Command): void {
  addDetails(program.command("check"), {
    notes: `It can run while a Hookline uses the same file. --listen binds ports for a moment: don't use it while one starts.
--connect writes a key to Redis that expires after a second.`,
    example: "hookline check -c pipelines.conf --connect",
  })
    .description(
      "check the configuration as a start does: print all errors, or what would run; nothing is started or changed",
    )
    .addOption(configFlag())
    .addOption(componentsFlag())
    .option(
      "--listen",
      "also require ports to be free, and logs and spools not to be in use, as a start does",
    )
    .option(
      "--connect",
      "connect to brokers, token endpoints, schema registries and Redis, and print what each answers",
    )
    .addOption(jsonFlag("problems, warnings, connections and pipelines as JSON"))
    .action(async (flags: CheckFlags) => (await import("./check.ts")).check(flags))
}

function declareMcp(program: Command): void {
  addDetails(program.command("mcp"), {
    notes: `A client of the Model Context Protocol starts it. It asks the admin API of the Hookline that runs with this
configuration, with its token. Its answers include bodies and headers from senders; secrets and signatures are masked.`,
    example: "hookline mcp -c pipelines.conf",
  })
    .description(
      "offer refused requests, their explanations and records to an assistant, by the Model Context Protocol",
    )
    .addOption(configFlag())
    .option("--allow-actions", "also let it send events and replay records")
    .action(async ({ config, allowActions }: ConfigFlags & { readonly allowActions?: true }) =>
      (await import("./mcp.ts")).serveMcp(config, allowActions === true),
    )
}

function declareInit(program: Command): void {
  addDetails(program.command("init"), {
    notes: `Events are kept in an embedded log in ./hookline-data. The provider's secret is in a file of its own: that of --secret-file,
else one in ./secrets with the variable HOOKLINE_SECRET or a secret made at random, which is given to the provider or replaced by
the provider's own. No file is overwritten: to a configuration file that exists, the pipeline is added.`,
    example: "hookline init github",
  })
    .description(
      "write a configuration file with a pipeline for a provider, or add one to it, and say what to enter there",
    )
    .argument("[provider]", "a preset or generic kind; without one, nobody is verified")
    .addOption(configFlag())
    .option("--secret-file <file>", "a file with the secret; repeatable", repeatable)
    .option(
      "--set <key=value>",
      "another key of the Verifier's section, such as public_key; @file for a file's content; repeatable",
      repeatable,
    )
    .action(async (provider: string | undefined, flags: InitFlags) =>
      console.log((await import("./init.ts")).init(provider, flags)),
    )
}

function declareSpool(program: Command): void {
  const spool = program
    .command("spool")
    .description("inspect or drain the spool of a Kafka connection")
    .helpCommand(false)
  const inspected = (): Argument =>
    new Argument("[connection]", "id of the connection, if several have a spool")
  addDetails(spool.command("status"), { example: "hookline spool status --json" })
    .description("print topics, records and bytes of the spools; also while Hookline runs")
    .addArgument(inspected())
    .addOption(configFlag())
    .addOption(jsonFlag())
    .action(async (id: string | undefined, options: ConfigFlags & { json?: true }) =>
      (await import("./spool.ts")).spoolStatus(id, options),
    )
  addDetails(spool.command("quarantine"), { example: "hookline spool quarantine kafka" })
    .description("print the events that Kafka refused for good, as JSON lines; also while Hookline runs")
    .addArgument(inspected())
    .addOption(configFlag())
    .action(async (id: string | undefined, options: ConfigFlags) =>
      (await import("./spool.ts")).printQuarantine(id, options),
    )
  addDetails(spool.command("drain"), {
    notes:
      "Exit status: 0 if the spool is empty, 1 if events are left or quarantined, 69 while another process uses the spool.",
    example: "hookline spool drain kafka --timeout 300",
  })
    .description("forward spooled and quarantined events; Hookline must not run")
    .addArgument(inspected())
    .addOption(configFlag())
    .addOption(new Option("--timeout <seconds>", "time limit").argParser(parseSeconds).default(60_000, "60"))
    .addOption(jsonFlag())
    .action(async (id: string | undefined, options: ConfigFlags & { timeout: number; json?: true }) =>
      (await import("./drain-spool.ts")).drainSpool(id, options),
    )
}

function declareHelp(program: Command): void {
  addDetails(program.command("completion"), {
    notes: `bash: source <(hookline completion bash), in ~/.bashrc

zsh: source <(hookline completion zsh), in ~/.zshrc after compinit

fish: hookline completion fish > ~/.config/fish/completions/hookline.fish`,
    example: "source <(hookline completion bash)",
  })
    .description("print a script that completes commands, options, topics and connections in a shell")
    .addArgument(new Argument("<shell>", "bash, zsh or fish").choices(Object.keys(SHELLS)))
    .action((shell: Shell) => void process.stdout.write(SHELLS[shell]))
  program
    .command("complete", { hidden: true })
    .argument("[words...]")
    .action(async (words: string[]) => (await import("./complete.ts")).printCompletions(program, words))
  addDetails(program.command("version"), { example: "hookline version --json" })
    .description("print the versions of Hookline and of Bun, which runs it")
    .addOption(jsonFlag())
    .action(({ json }: { json?: true }) => {
      const versions = { hookline: manifest.version, bun: Bun.version }
      console.log(
        json === true ? JSON.stringify(versions) : `hookline ${versions.hookline} (Bun ${versions.bun})`,
      )
    })
  addDetails(program.command("help"), {
    notes: `The name of an error is in its message, in the log as reason or error, and in a response's type; that of a
problem is in its id, before the colon, as hookline problems prints it.`,
    example: "hookline help port_in_use",
  })
    .description("print the help of a command, or what the name of an error or problem means and what to do")
    .argument("[command...]", "a command and its subcommand, or names of errors or problems")
    .action(async (words: string[]) => {
      const explained = await explainErrors(words)
      if (explained === undefined) findCommand(program, words).outputHelp()
      else console.log(explained)
    })
}

/**
 * The sections of docs/errors.md on errors with these names, or types of problem documents, and of docs/runbook.md on alerts and
 * kinds of problems; undefined: one is none.
 */
async function explainErrors(names: readonly string[]): Promise<string | undefined> {
  // the binary has them in itself
  const pages: unknown[] = await Promise.all([
    import("../../docs/runbook.md" as string, { with: { type: "text" } }),
    import("../../docs/errors.md" as string, { with: { type: "text" } }),
  ])
  const sections = new Map(
    pages.flatMap((page) =>
      (page as { default: string }).default.split(/^##? /m).flatMap((it) => {
        const problems = /^\*\*Problem\*\*: (.*)$/m.exec(it)?.[1]?.match(/\w+/g) ?? []
        return [it.slice(0, it.indexOf("\n")), ...problems].map((name) => [name, it.trim()] as const)
      }),
    ),
  )
  const found = names.map((it) => sections.get(it.replace(/^urn:hookline:error:/, "")))
  if (found.length === 0 || found.includes(undefined)) return undefined
  const plain = found
    .join("\n\n")
    .replaceAll("**", "")
    .replaceAll(/\[([^\]]+)\]\(([^)]+)\)/g, "$1 ($2)")
  return wrap(plain, columns())
}
