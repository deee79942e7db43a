import { Command, CommanderError, InvalidArgumentError, Option } from "commander"
import { version } from "../package.json" with { type: "json" }
import type { ReadFrom } from "./brokers/broker.ts"
import { enterFolder } from "./commands/folder.ts"
import { send, type SendFlags } from "./commands/send.ts"
import type { TailOutput } from "./commands/tail.ts"
import { addVerifierFlags, repeatable, SECRETS_HELP } from "./commands/verifier-flags.ts"
import { verify, type VerifyFlags } from "./commands/verify.ts"
import { HooklineError } from "./errors.ts"
import { escapeControls } from "./telemetry/escape-controls.ts"

// The commands that work on pipelines are read when they are called: with the Kafka client they take 0.3 s to load, which
// `verify`, `send` and --help need not wait for.
const config = (): Option =>
  new Option(
    "-c, --config <file>",
    "the configuration file (default: $HOOKLINE_CONFIG, else ./pipelines.conf)",
  )
const connection = (): Option =>
  new Option("--connection <id>", "which connection's log to read, where the file has several")

const program = new Command("hookline")
  .description("Receives webhooks, validates and enriches them, and publishes each one durably to a topic.")
  .version(version)
  .showHelpAfterError("(hookline --help tells what there is)")
  .exitOverride()

program
  .command("run", { isDefault: true })
  .description("run the pipelines of the configuration file until SIGTERM or SIGINT (also without a command)")
  .addOption(config())
  .option("-w, --watch", "reload when the configuration file changes, or a file that it names", false)
  .addHelpText(
    "after",
    `
SIGHUP reloads: the file is read again, with the secrets, certificates and schemas that it names, checked whole, and
takes over without a request that is refused or lost. When anything is wrong the log says what, and nothing changes.

SIGTERM and SIGINT stop it in order: nothing new is accepted, what was accepted is answered and published within
drain_timeout, and it exits 0. A second signal ends it at once.

Exit status: 0 after an orderly stop, 64 for a wrong command line, 66 for a file that can't be read, 69 for a port in use
or a log that another process writes to, 70 for a fault, 74 for a disk that fails, 78 for a wrong configuration.`,
  )
  .action(async (options: { config?: string; watch: boolean }) =>
    (await import("./commands/run.ts")).run(options.config, { watches: options.watch }),
  )

program
  .command("worker", { hidden: true })
  .action(async () => (await import("./commands/worker.ts")).worker())

program
  .command("check")
  .description(
    "read the configuration file, say everything that is wrong with it, and exit 0 or 78; nothing is started",
  )
  .addOption(config())
  .action(async (options: { config?: string }) => (await import("./commands/check.ts")).check(options.config))

program
  .command("tail")
  .description("print the records of a topic, oldest first, one a line")
  .argument("<topic>", "the topic")
  .addOption(config())
  .addOption(connection())
  .option("--from <where>", "beginning, end, or an offset (of each partition)", parseFrom, "beginning")
  .option("-f, --follow", "go on with new records until interrupted", false)
  .addOption(
    new Option(
      "-o, --output <form>",
      "value: the record's value, control characters escaped; raw: its bytes; json: its place, time, key, headers and value",
    )
      .choices(["value", "raw", "json"] satisfies TailOutput[])
      .default("value"),
  )
  .action(
    async (
      topic: string,
      options: { config?: string; connection?: string; from: ReadFrom; follow: boolean; output: TailOutput },
    ) => (await import("./commands/tail.ts")).tail(topic, options),
  )

program
  .command("topics")
  .description("list the topics of a connection's log: partitions, records and bytes")
  .addOption(config())
  .addOption(connection())
  .action(async (options: { config?: string; connection?: string }) =>
    (await import("./commands/topics.ts")).topics(options),
  )

const spool = program
  .command("spool")
  .description("look into the spool of a Kafka connection, and empty it by hand")
const spooling = "[connection]"
const spoolingHelp = "id of the connection, where several have a spool"

spool
  .command("status")
  .description("print what the spools hold; also while Hookline runs")
  .argument(spooling, spoolingHelp)
  .addOption(config())
  .action(async (id: string | undefined, options: { config?: string }) =>
    (await import("./commands/spool.ts")).spoolStatus(id, options),
  )

spool
  .command("set-aside")
  .description("print the events that Kafka refused for good, as JSON, one a line; also while Hookline runs")
  .argument(spooling, spoolingHelp)
  .addOption(config())
  .action(async (id: string | undefined, options: { config?: string }) =>
    (await import("./commands/spool.ts")).printSetAside(id, options),
  )

spool
  .command("drain")
  .description("forward what a spool holds, and try again what was set aside; Hookline must not run")
  .argument(spooling, spoolingHelp)
  .addOption(config())
  .addOption(
    new Option("--timeout <seconds>", "how long it may take").argParser(parseSeconds).default(60_000, "60"),
  )
  .addHelpText(
    "after",
    `
Exit status: 0 when the spool is empty, 1 when something is left or set aside, 69 while another process uses the spool.`,
  )
  .action(async (id: string | undefined, options: { config?: string; timeout: number }) =>
    (await import("./commands/drain-spool.ts")).drainSpool(id, options),
  )

addVerifierFlags(program.command("verify"))
  .description(
    "explain step by step why a captured request is verified or refused, and find the likely mistake",
  )
  .option("--list", "list the providers and generic kinds with what each needs, and end")
  .option("--public-key <file>", "a file that holds a public key; repeatable", repeatable)
  .option("-H, --header <header>", "a header of the request, 'Name: value'; repeatable", repeatable)
  .option("-b, --body <file>", "the request's raw body; - for standard input")
  .option("-u, --url <url>", "the URL that the provider was given, for those that sign it")
  .option("-X, --method <method>", "the request's method", "POST")
  .option("--now <time>", "judge the signed time as of then: RFC 3339, or seconds since 1970")
  .addHelpText(
    "after",
    `${SECRETS_HELP}

Exit status: 0 for a request that is verified, 1 for one that is refused, 64 for a wrong command line, 66 for a file that
can't be read.`,
  )
  .action((flags: VerifyFlags) => verify(flags))

addVerifierFlags(program.command("send"))
  .description("post sample events, signed as a provider would, to try out a pipeline without the provider")
  .argument("<url>", "where to")
  .option("-b, --body <file>", "what to send instead of the provider's sample; - for standard input")
  .option("-H, --header <header>", "a header to send, 'Name: value'; repeatable", repeatable)
  .option("-n, --count <number>", "how many events, each with an id of its own", parseCount, 1)
  .option("-r, --rate <number>", "events a second; without it as fast as answers come", parseRate)
  .option("-c, --concurrency <number>", "requests that are out at the same time, at most", parseCount, 10)
  .option("--public-url <url>", "the URL to sign, where a proxy makes it another than the one to post to")
  .addOption(
    new Option("--timeout <seconds>", "how long an answer may take")
      .argParser(parseSeconds)
      .default(30_000, "30"),
  )
  .addHelpText(
    "after",
    `${SECRETS_HELP}

Without --provider the events are not signed. Providers that sign with a private key take one of your own as the secret.

Exit status: 0 when every answer was 2xx, 1 when one was not, 64 for a wrong command line, 66 for a file that can't be
read.`,
  )
  .action((url: string, flags: SendFlags) => send(url, flags))

function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError("It is a whole number from 1.")
}

function parseRate(text: string): number {
  const rate = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0
  if (rate > 0) return rate
  throw new InvalidArgumentError("It is a number above 0.")
}

/** In milliseconds. */
function parseSeconds(text: string): number {
  return Math.ceil(parseRate(text) * 1000)
}

function parseFrom(text: string): ReadFrom {
  if (text === "beginning" || text === "end") return text
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError("It is beginning, end or an offset from 0.")
}

/** Exit status for a wrong command line: EX_USAGE of sysexits.h. */
const EX_USAGE = 64

try {
  enterFolder()
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : EX_USAGE
  else if (error instanceof HooklineError) {
    console.error(escapeControls(error.message))
    process.exitCode = error.exitCode
  } else {
    console.error(error)
    process.exitCode = 70
  }
}
