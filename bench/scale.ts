/**
 * `npm run bench:scale`: what many pipelines, topics, partitions and keys cost. Each row is measured beside the one that it
 * is compared with, in turn, in one run. `--parts NAMES`, by comma:
 *
 *     embedded    CPU an event on the embedded log: one pipeline, and the same beside idle ones
 *     kafka       the same on Kafka, each idle pipeline with a topic of its own
 *     partitions  CPU an event on Kafka: a topic of one partition, with and without keys, and one of many with keys
 *     topics      CPU an event on the embedded log: a Router that gives all one topic, and one that gives them many in turn
 *     reload      on the embedded log: the longest request, and the longest turn of the event loop, while a reload runs
 *     metrics     the size of /metrics, how long it takes, and the same of requests and turns meanwhile
 *     start       from the start of the process to the first event that is accepted
 *     sizes       memory, start, check, reload and metrics of each number in `--sizes`; with `--write` these are lines of
 *                 the budget in docs/benchmarks.md
 *
 * `--pipelines N`, `--partitions N`, `--topics N`, `--keys N` set the sizes, `--seconds N` and `--rounds N` the length,
 * `--checkout DIR` measures the Hookline in that folder instead of this one.
 */
import { join, resolve } from "node:path"
import { readFlags } from "./flags.ts"
import { hookline, idleTopic, type Variant } from "./hookline.ts"
import { openBenchKafka, type BenchKafka } from "./kafka.ts"
import { machine } from "./machine.ts"
import { median, ratios } from "./median.ts"
import { sizesTable } from "./budget.ts"
import { keep } from "./page.ts"
import { closed } from "./parts.ts"
import { today } from "./results.ts"
import { measureSizes } from "./scale-sizes.ts"
import { measureInTurn } from "./rounds.ts"
import { metricsRows, reloadRows, startRows } from "./scale-loop.ts"
import { figure, markdownTable, rowsOf, sampleTable, TITLE } from "./table.ts"
import type { Target } from "./target.ts"

const PARTS = ["embedded", "kafka", "partitions", "topics", "reload", "metrics", "start", "sizes"]

const NEEDS_KAFKA = ["kafka", "partitions"]

const { pipelines, partitions, topics, keys, seconds, rounds, connections, ...flags } = readFlags({
  parts: PARTS.filter((part) => part !== "sizes").join(","),
  pipelines: 2000,
  partitions: 500,
  topics: 10_000,
  keys: 200_000,
  seconds: 3,
  rounds: 3,
  connections: 64,
  sizes: "1,100,1000,10000,50000",
  write: false,
  checkout: join(import.meta.dir, ".."),
})
const checkout = resolve(flags.checkout)
const parts = flags.parts.split(",")
const unknown = parts.find((part) => !PARTS.includes(part))
if (unknown !== undefined) throw new Error(`there is no part ${unknown}; there are ${PARTS.join(", ")}`)

const count = (number: number): string => number.toLocaleString("en")

/** Those of each part; one beside which the others are measured comes first. */
function targetsOf(part: string): Target[] {
  const log = NEEDS_KAFKA.includes(part) ? "kafka" : "embedded"
  const named = (what: string, more: Partial<Variant>): Target => {
    const title = `${log === "kafka" ? "Kafka" : "embedded log"}, ${what}`
    return hookline({ name: title, title, log, checkout, ...more })
  }
  if (part === "topics")
    return [named("one topic", { topics: 1 }), named(`${count(topics)} topics`, { topics })]
  if (part !== "partitions")
    return [named("one pipeline", {}), named(`${count(pipelines)} pipelines`, { idle: pipelines - 1 })]
  return [
    named("one partition", { partitions: 1 }),
    named(`one partition, ${count(keys)} keys`, { partitions: 1, keys }),
    named(`${count(partitions)} partitions, ${count(keys)} keys`, { partitions, keys }),
  ]
}

/** What the load of one pipeline costs each target of a part. */
async function costs(part: string, kafka: BenchKafka | undefined): Promise<string> {
  const load = closed(connections)
  const targets = targetsOf(part)
  const samples = await measureInTurn(targets, [load], { rounds, seconds, kafka })
  const of = ({ name }: Target) => samples[name]![load.name]!
  return sampleTable(
    [
      TITLE,
      figure("req/s", (it) => it.perSecond, 0),
      figure("p99 ms", (it) => it.p99, 2),
      figure("CPU us/event", (it) => it.cpuPerEvent, 1),
      [
        "ratio",
        ({ target, base }) =>
          base === undefined
            ? ""
            : median(ratios(of(target), of(targets[0]!), (it) => it.cpuPerEvent)).toFixed(2),
      ],
      figure("peak MiB", (it) => it.peak, 0),
    ],
    rowsOf(targets, targets[0]!, load.name, samples),
  )
}

const LONGEST = ["longest request ms", "longest turn ms", "of CPU ms"]

async function main(): Promise<void> {
  const tables: string[] = []
  await using kafka = parts.some((part) => NEEDS_KAFKA.includes(part)) ? await openBenchKafka() : undefined
  if (parts.includes("kafka"))
    await kafka?.makeTopics(Array.from({ length: pipelines - 1 }, (_, at) => idleTopic(at)))
  for (const part of ["embedded", "topics", "kafka", "partitions"])
    if (parts.includes(part) && (kafka !== undefined || !NEEDS_KAFKA.includes(part)))
      tables.push(await costs(part, kafka))
  const how = { pipelines, checkout, seconds, rounds }
  const of = `of ${count(pipelines)} pipelines`
  if (parts.includes("reload"))
    tables.push(markdownTable([`reload ${of}`, "took ms", ...LONGEST], await reloadRows(how)))
  if (parts.includes("metrics"))
    tables.push(markdownTable([`/metrics ${of}`, "KB", "took ms", ...LONGEST], await metricsRows(how)))
  if (parts.includes("start"))
    tables.push(markdownTable(["start of", "ms to the first event"], await startRows(how)))
  if (parts.includes("sizes")) {
    const sizes = await measureSizes(flags.sizes.split(",").map(Number), how)
    tables.push(markdownTable(...sizesTable(sizes)))
    const result = { measured: today(), machine: machine(), rounds, sizes }
    if (flags.write) await keep({ sizes: result })
  }
  console.log(
    `\n${machine()}, ${connections} connections, 1.1 KB bodies, medians of ${rounds} rounds of ${seconds} s\n`,
  )
  console.log(tables.join("\n\n"))
}

await main()
