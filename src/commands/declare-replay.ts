import { Option, type Command } from "commander"
import { parseTargetUrl } from "../replay/request-of-record.ts"
import { addDetails } from "./details.ts"
import { parseLines, parseRate } from "./flag-values.ts"
import { parseCondition } from "./record-filter.ts"
import type { ReplayFlags } from "./replay.ts"
import { parseTopicPlace, parseTopicRange, type TopicPlace } from "./topic-range.ts"

export function declareReplay(program: Command): void {
  addDetails(program.command("replay"), {
    notes: `Values, keys, headers, times and order are those of the records, to the byte. A range of offsets (@100..200) holds for each
partition, and ends before the second; one of times (@1h.., @2026-11-22T14:00..15m) takes what tail --since takes.
While a broker is unavailable the replay waits.

An interrupted or killed replay goes on where it was when the same command is run again; after a kill up to 1000 records
are sent a second time (to a URL, one).

Exit status: 0 if all records were replayed, 1 if some were refused and skipped, 65 or 77 at a refused record.`,
    example: "hookline replay --from log/payments@1d.. --to kafka/payments --where 'json:/type=invoice.*'",
  })
    .description("publish the records of a topic, or a range of them, again: to another topic, log or URL")
    .addOption(
      new Option(
        "-c, --config <file>",
        "the configuration file (default: $HOOKLINE_CONFIG, else ./pipelines.conf)",
      ),
    )
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
        parseWhere,
      ),
    )
    .addOption(new Option("-r, --rate <number>", "records per second, at most").argParser(parseRate))
    .addOption(
      new Option("--timestamps <which>", "the records' own times, or that of the replay")
        .choices(["keep", "new"])
        .default("keep"),
    )
    .addOption(
      new Option("--on-refusal <what>", "at a record that the target refuses for good")
        .choices(["stop", "skip"])
        .default("stop"),
    )
    .option(
      "--name <name>",
      "of the replay, under which its position is kept; default: made from what it replays",
    )
    .option("--state <folder>", "where positions are kept; default: .hookline beside the configuration file")
    .option("--restart", "begin anew, though a replay of that name was interrupted")
    .option("--dry-run", "only count the records")
    .option("--json", "print JSON")
    .action(async (flags: ReplayFlags) => (await import("./replay.ts")).replay(flags))
}

function parseWhere(text: string, before: readonly string[] = []): string[] {
  parseCondition(text)
  return [...before, text]
}

const parseDestination = (text: string): TopicPlace | URL =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? parseTargetUrl(text) : parseTopicPlace(text)
