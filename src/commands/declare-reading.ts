import { Option, type Command } from "commander"
import type { Matches } from "../brokers/record-filter.ts"
import { configFlag, connectionFlag, jsonFlag, type ConfigFlags } from "./common-flags.ts"
import { addDetails } from "./details.ts"
import type { NamedTopic } from "./connections-of.ts"
import { parseLines, parseOffset, parseTimeFlag, parseWhere } from "./flag-values.ts"
import { RECORD_FORMATS } from "./record-formats.ts"
import type { TailFlags } from "./tail.ts"
import { parseTopicFlag } from "./topic-range.ts"

/** The commands that read topics. */
export function declareReading(program: Command): void {
  addDetails(program.command("tail"), {
    notes: `Times are durations back from now (90s, 1h, 7d), times of the day (14:00, the last one that was; yesterday,
yesterday 14:00), or ISO 8601, local unless they have a zone. Conditions compare a JSON pointer into the value, a header or the key with a pattern, in which * stands for any text; all must match.
With --follow, a topic or log that does not exist yet is waited for, and an interrupt exits 0.`,
    example: "hookline tail payments --since 1h --where 'json:/type=invoice.*'",
  })
    .description("print the records of topics, oldest first: on a terminal the last 20, else all")
    .argument(
      "<topic...>",
      "one or several topics; CONNECTION/TOPIC where the file has several connections",
      (text: string, before: readonly NamedTopic[] = []) => [...before, parseTopicFlag(text)],
    )
    .addOption(configFlag())
    .addOption(connectionFlag())
    .addOption(
      new Option("-n, --lines <number>", "only the last records of each topic that match --where")
        .argParser(parseLines)
        .conflicts(["begin", "offset"]),
    )
    .addOption(new Option("-f, --follow", "then print new records until interrupted").conflicts("until"))
    .addOption(
      new Option("--since <time>", "records from that time on")
        .argParser(parseTimeFlag)
        .conflicts(["begin", "offset"]),
    )
    .addOption(new Option("--until <time>", "records before that time").argParser(parseTimeFlag))
    .addOption(
      new Option(
        "--where <condition>",
        "records that match: json:/type=invoice.*, header:Name=…, key=…; repeatable",
      ).argParser((text, before: readonly Matches[] = []) => [...before, parseWhere(text)]),
    )
    .addOption(
      new Option("--begin <where>", "all records kept, or only new ones")
        .choices(["beginning", "end"])
        .conflicts("offset"),
    )
    .addOption(
      new Option(
        "--offset <offset>",
        "from an offset of each partition; 3:42 is partition 3 alone; repeatable",
      ).argParser(parseOffset),
    )
    .addOption(
      new Option(
        "-o, --format <format>",
        "pretty: for people; value: the value, control characters escaped; json: the whole record as one object; raw: the value's bytes (default: pretty on a terminal, else value)",
      ).choices(RECORD_FORMATS),
    )
    .action(async (topics: readonly NamedTopic[], flags: TailFlags) =>
      (await import("./tail.ts")).tail(topics, flags),
    )
  addDetails(program.command("topics"), { example: "hookline topics --json" })
    .description("list the topics of the connections' logs: partitions, records and bytes")
    .addOption(configFlag())
    .addOption(connectionFlag("only the topics of this connection"))
    .addOption(jsonFlag())
    .action(async (options: ConfigFlags & { connection?: string; json?: true }) =>
      (await import("./topics.ts")).topics(options),
    )
}
