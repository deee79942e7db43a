import { Command, CommanderError, InvalidArgumentError, Option } from "commander"
import manifest from "../package.json" with { type: "json" }
import type { ReadFrom } from "./brokers/broker.ts"
import type { CheckFlags } from "./commands/check.ts"
import { enterFolder } from "./commands/folder.ts"
import { send, type SendFlags } from "./commands/send.ts"
import type { TailOutput } from "./commands/tail.ts"
import { addVerifierFlags, repeatable, SECRETS_HELP } from "./commands/verifier-flags.ts"
import { verify, type VerifyFlags } from "./commands/verify.ts"
import { HooklineError } from "./errors.ts"
import { escapeControls } from "./telemetry/escape-controls.ts"

// Commands that need the Kafka client are imported when called: it takes 0.3 s to load, which `verify`, `send` and --help
// do without.
const config = (): Option =>
  new Option(
    "-c, --config <file>",
    "the configuration file (default: $HOOKLINE_CONFIG, else ./pipelines.conf)",
  )
const connection = (): Option =>
  new Option("--connection <id>", "the connection whose log to read, if there are several")

const program = new Command("hookline")
  .description("Receives webhooks, validates and enriches them, and publishes each one durably to a topic.")
  .version(manifest.version)
  .showHelpAfterError("(see hookline --help)")
  .exitOverride()

program
  .command("run", { isDefault: true })
  .description("run the pipelines of the configuration file until SIGTERM or SIGINT (the default command)")
  .addOption(config())
  .option(
    "-w, --watch",
    "reload when the configuration file, or one that it includes or references, changes",
    false,
  )
  .addHelpText(
    "after",
    `
SIGHUP reloads the file with its secrets, certificates and schemas, without refusing or losing a request. A configuration
with an error is logged and changes nothing.

SIGTERM and SIGINT stop gracefully: new requests are refused, accepted events are published and answered within
drain_timeout, and the exit status is 0. A second signal exits at once.

Exit status: 0 after a graceful stop, 64 for a usage error, 66 for an unreadable file, 69 for a port in use or a log that
another process writes to, 70 for an internal error, 74 for a disk error, 78 for a configuration error.`,
  )
  .action(async (options: { config?: string; watch: boolean }) =>
    (await import("./commands/run.ts")).run(options.config, { watches: options.watch }),
  )

program
  .command("worker", { hidden: true })
  .action(async () => (await import("./commands/worker.ts")).worker())

program
  .command("check")
  .description("find what a start would: print all errors, or what would run; nothing is started or changed")
  .addOption(config())
  .option("--listen", "as a start beside nothing else: ports must be free, and logs not in use", false)
  .option("--connect", "connect to brokers and Redis, and print what each address and topic answers", false)
  .option("--json", "print problems, warnings, connections and pipelines as JSON", false)
  .addHelpText(
    "after",
    `
It may run beside a Hookline on the same file. --listen binds ports for a moment: not while one starts.

Exit status: 0 for a valid configuration, else that of a start: 78 for a configuration error, 69 for a port or log in use,
74 for a folder that can't be written. With --connect 69 if something can't be reached.`,
  )
  .action(async (flags: CheckFlags) => (await import("./commands/check.ts")).check(flags))

program
  .command("tail")
  .description("print the records of a topic, oldest first, one a line")
  .argument("<topic>", "the topic")
  .addOption(config())
  .addOption(connection())
  .option("--from <where>", "beginning, end, or an offset (of each partition)", parseFrom, "beginning")
  .option("-f, --follow", "wait for new records until interrupted", false)
  .addOption(
    new Option(
      "-o, --output <form>",
      "value: the record's value, control characters escaped; raw: its bytes; json: topic, partition, offset, time, key, headers and value",
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

const spool = program.command("spool").description("inspect or drain the spool of a Kafka connection")
const spooling = "[connection]"
const spoolingHelp = "id of the connection, if several have a spool"

spool
  .command("status")
  .description("print topics, records and bytes of the spools; also while Hookline runs")
  .argument(spooling, spoolingHelp)
  .addOption(config())
  .action(async (id: string | undefined, options: { config?: string }) =>
    (await import("./commands/spool.ts")).spoolStatus(id, options),
  )

spool
  .command("quarantine")
  .description("print the events that Kafka refused for good, as JSON lines; also while Hookline runs")
  .argument(spooling, spoolingHelp)
  .addOption(config())
  .action(async (id: string | undefined, options: { config?: string }) =>
    (await import("./commands/spool.ts")).printQuarantine(id, options),
  )

spool
  .command("drain")
  .description("forward spooled and quarantined events; Hookline must not run")
  .argument(spooling, spoolingHelp)
  .addOption(config())
  .addOption(new Option("--timeout <seconds>", "time limit").argParser(parseSeconds).default(60_000, "60"))
  .addHelpText(
    "after",
    `
Exit status: 0 if the spool is empty, 1 if events are left or quarantined, 69 while another process uses the spool.`,
  )
  .action(async (id: string | undefined, options: { config?: string; timeout: number }) =>
    (await import("./commands/drain-spool.ts")).drainSpool(id, options),
  )

addVerifierFlags(program.command("verify"))
  .description(
    "explain step by step why a captured request is verified or refused, and find the likely mistake",
  )
  .option("--list", "list the providers and generic kinds with their required keys, and exit")
  .option("--public-key <file>", "a file with a public key; repeatable", repeatable)
  .option("-H, --header <header>", "a header of the request, 'Name: value'; repeatable", repeatable)
  .option("-b, --body <file>", "the request's raw body; - for standard input")
  .option("-u, --url <url>", "the URL registered with the provider, for providers that sign it")
  .option("-X, --method <method>", "the request's method", "POST")
  .option("--now <time>", "check the signed time as of then: RFC 3339, or seconds since 1970")
  .addHelpText(
    "after",
    `${SECRETS_HELP}

Exit status: 0 if the request is verified, 1 if it is refused, 64 for a usage error, 66 for an unreadable file.`,
  )
  .action((flags: VerifyFlags) => verify(flags))

addVerifierFlags(program.command("send"))
  .description("post sample events, signed as the provider would, to try out a pipeline")
  .argument("<url>", "where to post")
  .option("-b, --body <file>", "the body instead of the provider's sample; - for standard input")
  .option("-H, --header <header>", "a header to send, 'Name: value'; repeatable", repeatable)
  .option("-n, --count <number>", "how many events, each with its own id", parseCount, 1)
  .option("-r, --rate <number>", "events per second; default: as fast as responses arrive", parseRate)
  .option("-c, --concurrency <number>", "concurrent requests", parseCount, 10)
  .option("--public-url <url>", "the URL to sign, if a proxy rewrites it")
  .addOption(
    new Option("--timeout <seconds>", "time limit of a response")
      .argParser(parseSeconds)
      .default(30_000, "30"),
  )
  .addHelpText(
    "after",
    `${SECRETS_HELP}

Without --provider events are not signed. For providers that sign with a private key, pass your own as the secret.

Exit status: 0 if all responses were 2xx, else 1; 64 for a usage error, 66 for an unreadable file.`,
  )
  .action((url: string, flags: SendFlags) => send(url, flags))

function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError("Expected a whole number from 1.")
}

function parseRate(text: string): number {
  const rate = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0
  if (rate > 0) return rate
  throw new InvalidArgumentError("Expected a number above 0.")
}

/** In milliseconds. */
function parseSeconds(text: string): number {
  return Math.ceil(parseRate(text) * 1000)
}

function parseFrom(text: string): ReadFrom {
  if (text === "beginning" || text === "end") return text
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError("Expected beginning, end or an offset from 0.")
}

/** The exit status for a usage error, of sysexits.h. */
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
