import { InvalidArgumentError, Option, type Command } from "commander"
import { componentsFlag, repeatable } from "./common-flags.ts"
import { addDetails } from "./details.ts"
import type { DevFlags } from "./dev/run-dev.ts"
import { addVerifierFlags } from "./verifier-flags.ts"

/** Flags that say what the file says otherwise. */
const OF_THE_LOCAL_PIPELINE = [
  "provider",
  "secret",
  "secretFile",
  "publicKey",
  "set",
  "port",
  "path",
  "publicUrl",
  "directory",
  "adminPort",
]

export function declareDev(program: Command): void {
  const command = addVerifierFlags(
    addDetails(program.command("dev"), {
      notes: `Needs no file: events are posted to one pipeline on this machine and kept in an embedded log in ./hookline-dev, which
stays when it ends. With --provider and without a secret one is made for this run and printed; without --provider
nobody is verified. The secret comes from --secret-file, or the variable HOOKLINE_SECRET.

With --config, the pipelines of that file run, and those options are the file's.

On a desktop's terminal the page opens in a browser. There, b prints the last event's body, r sends the last request again,
o opens the page and ? lists the keys; q or Ctrl-C ends it, Ctrl-Z suspends it.`,
      example: "hookline dev --provider stripe --forward http://localhost:3000/webhooks",
    }),
    "-c, --config",
  )
    .description(
      "try out webhooks on a laptop: run, and print a line for each event with its type and result",
    )
    .option("--public-key <file>", "a file with a public key; repeatable", repeatable)
    .option("--forward <url>", "post each published event to this URL too, in order, until it is accepted")
    .addOption(new Option("--port <number>", "where to listen").argParser(parsePort).default(8080))
    .option("--path <path>", "the path of the webhooks", "/webhook")
    .option(
      "--public-url <url>",
      "the URL that the provider posts to, if it signs that and a tunnel rewrites it",
    )
    .option("--directory <folder>", "where to keep the log", "hookline-dev")
    .addOption(
      new Option("--admin-port <number>", "where the page listens").argParser(parsePort).default(9464),
    )
    .addOption(componentsFlag())
    .option("--no-open", "do not open the page in a browser")
    .option("--verbose", "print the body of every event")
    .action(async (flags: DevFlags) => (await import("./dev/run-dev.ts")).dev(flags))
  command.options.find(({ long }) => long === "--config")!.conflicts(OF_THE_LOCAL_PIPELINE)
}

function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError("Expected a port number.")
}
