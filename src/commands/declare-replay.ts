import { Option, type Command } from "commander"
import { parseTargetUrl } from "../replay/request-of-record.ts"
import { configFlag, jsonFlag, stateFlag, type StateFlags } from "./common-flags.ts"
import type { NamedTopic } from "./connections-of.ts"
import { addDetails } from "./details.ts"
import { parseCount, parseLines, parseOffset, parseRate, parseWhere } from "./flag-values.ts"
import type { ForwardFlags } from "./forward.ts"
import type { dropFailures } from "./forwards.ts"
import type { NamedReplay } from "./replay.ts"
import { parseTopicFlag, parseTopicRange } from "./topic-range.ts"

export function declareReplay(program: Command): void {
  addDetails(program.command("replay"), {
    notes: `Values, keys, headers, times and order are those of the records, to the byte. A topic is named as for tail: CONNECTION/TOPIC, or
TOPIC where the connection is clear. A range of offsets (@100..200) holds for each
partition, and ends before the second; one of times (@1h.., @2026-11-22T14:00..15m) takes what tail --since takes.
While a broker is unavailable, the replay waits.

Run the same command again to resume an interrupted or killed replay; after a kill, up to 1000 records are sent a second
time (one, if the target is a URL).

Exit status: 0 if all records were replayed, 1 if some were refused and skipped, or deleted from the log before they
were read, 65 or 77 at a refused record.`,
    example: "hookline replay --from log/payments@1d.. --to kafka/payments --where 'json:/type=invoice.*'",
  })
    .description("publish the records of a topic, or a range of them, again: to another topic, log or URL")
    .addOption(configFlag())
    .addOption(
      new Option("--from <connection/topic>", "what to replay; with @FIRST..END, a range of offsets or times")
        .argParser(parseTopicRange)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option("--to <connection/topic>", "where to publish it, or a URL to post it to")
        .argParser(parseDestination)
        .makeOptionMandatory(),
    )
    .addOption(new Option("--partition <number>", "only that partition").argParser(parseLines))
    .addOption(
      new Option("--where <condition>", "only records that match, as tail --where; repeatable").argParser(
        parseWheres,
      ),
    )
    .addOption(new Option("-r, --rate <number>", "records per second, at most").argParser(parseRate))
    .addOption(
      new Option("--timestamps <which>", "the records' own times, or that of the replay")
        .choices(["keep", "new"])
        .default("keep"),
    )
    .addOption(onRefusal("stop"))
    .option(
      "--name <name>",
      "of the replay, under which its position is kept; default: made from what it replays",
    )
    .addOption(stateFlag())
    .option("--restart", "begin anew, though a replay of that name was interrupted")
    .option("--dry-run", "only count the records")
    .addOption(jsonFlag())
    .action(async (flags: NamedReplay) => (await import("./replay.ts")).replay(flags))
}

function parseWheres(text: string, before: readonly string[] = []): string[] {
  parseWhere(text)
  return [...before, text]
}

const parseDestination = (text: string): NamedTopic | URL =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? parseTargetUrl(text) : parseTopicFlag(text)

export function declareForward(program: Command): void {
  const forward = addDetails(program.command("forward"), {
    notes: `The position is kept durably under a name: records published while the command is not running, or while the target is down,
are posted later, in order. While the target is unreachable or answers 5xx, 408, 425 or 429, a record is posted again for as
long as it takes. A record that it refuses with another status, --retries included, is stored as a failure, and the next one
is posted, so that one bad record does not hold up those behind it; the commands below list failures and post them again. After a kill, the record in flight may be posted twice.

An interrupt ends it with exit status 0.`,
    example: "hookline forward log/payments http://localhost:3000/webhooks",
  })
    .description("post the records of a topic to a URL, in order, resuming where an earlier run stopped")
    .helpCommand(false)
    .argument("<connection/topic>", "what to forward; TOPIC where its connection is clear", parseTopicFlag)
    .argument("<url>", "where to post it", parseTargetUrl)
    .addOption(configFlag())
    .option(
      "--name <name>",
      "of the forward, under which its position is kept; default: made from connection and topic",
    )
    .addOption(
      new Option(
        "--begin <where>",
        "where it begins: with all that is kept, or with what is new; default: where it stopped, and a new one with what is new",
      ).choices(["beginning", "end"]),
    )
    .addOption(
      new Option("--retries <number>", "how often a record that is refused is posted again")
        .argParser(parseLines)
        .default(5),
    )
    .addOption(
      new Option(
        "--concurrency <number>",
        "how many records are posted at once: in order within a key, those without a key in no order",
      )
        .argParser(parseCount)
        .default(1),
    )
    .addOption(onRefusal("skip"))
    .addOption(stateFlag())
    .action(async (topic: NamedTopic, url: URL, flags: ForwardFlags) =>
      (await import("./forward.ts")).forward(topic, url, flags),
    )
  declareForwards(forward)
}

/** The commands on forwards that were begun. */
function declareForwards(forward: Command): void {
  addDetails(forward.command("list"), { example: "hookline forward list --json" })
    .description(
      "list the forwards: topic, URL, how many records were posted and refused, and what each is doing: running, paused, stopped, or retrying since when and why",
    )
    .addOption(configFlag())
    .addOption(stateFlag())
    .addOption(jsonFlag())
    .action(async (flags: StateFlags) => (await import("./forwards.ts")).listForwards(flags))
  const named = (command: Command): Command =>
    command.argument("<forward>", "its name").addOption(configFlag()).addOption(stateFlag())
  named(addDetails(forward.command("failures"), { example: "hookline forward failures log-payments" }))
    .description("print the records that the target of a forward has refused; also while it runs")
    .addOption(jsonFlag("JSON lines"))
    .action(async (name: string, flags: StateFlags) =>
      (await import("./forwards.ts")).printFailures(name, flags),
    )
  named(
    addDetails(forward.command("retry"), {
      notes: "Exit status: 0 if none is left, 1 if some are refused again or no longer in the log.",
      example: "hookline forward retry log-payments",
    }),
  )
    .description("post the refused records of a forward again; also while it runs")
    .action(async (name: string, flags: StateFlags) =>
      (await import("./forwards.ts")).retryFailures(name, flags),
    )
  named(addDetails(forward.command("drop"), { example: "hookline forward drop log-payments --offset 0:42" }))
    .description(
      "remove refused records of a forward from its list, without posting them; also while it runs",
    )
    .addOption(
      new Option(
        "--offset <offset>",
        "which: an offset of every partition, or partition:offset; repeatable",
      ).argParser(parseOffset),
    )
    .option("--all", "all that are listed")
    .action(async (name: string, flags: Parameters<typeof dropFailures>[1]) =>
      (await import("./forwards.ts")).dropFailures(name, flags),
    )
  for (const [action, what] of [
    [
      "pause",
      "stop posting the records of a forward until it is resumed, on all replicas and across restarts",
    ],
    ["resume", "continue a paused forward where it stopped"],
  ] as const)
    named(addDetails(forward.command(action), { example: `hookline forward ${action} log-payments` }))
      .description(`${what}; also while it runs`)
      .action(async (name: string, flags: StateFlags) =>
        (await import("./forwards.ts")).pauseForward(name, action === "pause", flags),
      )
  named(addDetails(forward.command("remove"), { example: "hookline forward remove log-payments" }))
    .description("forget a forward, its position and failures")
    .action(async (name: string, flags: StateFlags) =>
      (await import("./forwards.ts")).removeForward(name, flags),
    )
}

const onRefusal = (usual: "stop" | "skip"): Option =>
  new Option(
    "--on-refusal <what>",
    "at a record that the target refuses for good: stop, or continue with the next",
  )
    .choices(["stop", "skip"])
    .default(usual)
