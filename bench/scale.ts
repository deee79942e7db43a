/**
 * `npm run bench:scale`: what many pipelines, topics, partitions and keys cost. Each row is measured beside the one that it
 * is compared with, in turn, in one run. `--parts NAMES`, by comma:
 *
 *     embedded    CPU an event on the embedded log: one pipeline, and the same beside idle ones
 *     kafka       the same on Kafka, each idle pipeline with a topic of its own
 *     partitions  CPU an event on Kafka: a topic of one partition, with and without keys, and one of many with keys
 *     reload      on the embedded log: the longest request, and the longest turn of the event loop, while a reload runs
 *     metrics     the size of /metrics, how long it takes, and the same of requests and turns meanwhile
 *     start       from the start of the process to the first event that is accepted
 *
 * `--pipelines N`, `--partitions N`, `--keys N` set the sizes, `--seconds N` and `--rounds N` the length, `--checkout DIR`
 * measures the Hookline in that folder instead of this one.
 */
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { hookline, idleTopic } from "./hookline.ts"
import { openBenchKafka, type BenchKafka } from "./kafka.ts"
import { machine } from "./machine.ts"
import type { Sample } from "./measure.ts"
import { median } from "./median.ts"
import { measureInTurn } from "./rounds.ts"
import { metricsRows, reloadRows, startRows } from "./scale-loop.ts"
import { markdownTable } from "./table.ts"
import type { Target } from "./target.ts"

const PARTS = ["embedded", "kafka", "partitions", "reload", "metrics", "start"]

const { values: flags } = parseArgs({
  options: {
    parts: { type: "string", default: PARTS.join(",") },
    pipelines: { type: "string", default: "2000" },
    partitions: { type: "string", default: "500" },
    keys: { type: "string", default: "200000" },
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" },
    checkout: { type: "string", default: join(import.meta.dir, "..") },
  },
})
const [pipelines, partitions, keys, seconds, rounds, connections] = [
  flags.pipelines,
  flags.partitions,
  flags.keys,
  flags.seconds,
  flags.rounds,
  flags.connections,
].map(Number) as [number, number, number, number, number, number]
const checkout = resolve(flags.checkout)
const idle = pipelines - 1

const count = (number: number): string => number.toLocaleString("en")

/** One beside which the others are measured comes first. */
function targetsOf(part: string): Target[] {
  if (part === "embedded" || part === "kafka") {
    const of = (more: number): Target => {
      const title = `${part === "kafka" ? "Kafka" : "embedded log"}, ${more === 0 ? "one pipeline" : `${count(more + 1)} pipelines`}`
      return hookline({ name: title, title, log: part, idle: more, checkout })
    }
    return [of(0), of(idle)]
  }
  const of = (title: string, more: { partitions: number; keys?: number }): Target =>
    hookline({ name: title, title, log: "kafka", checkout, ...more })
  return [
    of("Kafka, one partition", { partitions: 1 }),
    of(`Kafka, one partition, ${count(keys)} keys`, { partitions: 1, keys }),
    of(`Kafka, ${count(partitions)} partitions, ${count(keys)} keys`, { partitions, keys }),
  ]
}

async function costRows(part: string, kafka: BenchKafka | undefined): Promise<string[][]> {
  const load = { name: "load", arrivals: { connections }, body: "1.1 KB" } as const
  const targets = targetsOf(part)
  const runs = await measureInTurn(targets, load, { rounds, seconds, kafka })
  const of = ({ name }: Target, figure: (sample: Sample) => number): number =>
    median(runs.get(name)!.map(figure))
  const ratios = (target: Target): number =>
    median(
      runs
        .get(target.name)!
        .map(({ cpuPerEvent }, round) => cpuPerEvent / runs.get(targets[0]!.name)![round]!.cpuPerEvent),
    )
  return targets.map((target) => [
    target.title,
    of(target, ({ perSecond }) => perSecond).toFixed(0),
    of(target, ({ p99 }) => p99).toFixed(2),
    of(target, ({ cpuPerEvent }) => cpuPerEvent).toFixed(1),
    ratios(target).toFixed(2),
    of(target, ({ peak }) => peak).toFixed(0),
  ])
}

const LONGEST = ["longest request ms", "longest turn ms", "of CPU ms"]

async function main(): Promise<void> {
  const parts = flags.parts.split(",")
  const unknown = parts.find((part) => !PARTS.includes(part))
  if (unknown !== undefined) throw new Error(`there is no part ${unknown}; there are ${PARTS.join(", ")}`)
  const needsKafka = parts.some((part) => part === "kafka" || part === "partitions")
  const kafka = needsKafka ? await openBenchKafka() : undefined
  const tables: string[] = []
  const head = ["", "req/s", "p99 ms", "CPU us/event", "ratio", "peak MiB"]
  try {
    if (parts.includes("kafka"))
      await kafka?.makeTopics(Array.from({ length: idle }, (_, at) => idleTopic(at)))
    for (const part of ["embedded", "kafka", "partitions"]) {
      if (!parts.includes(part) || (part !== "embedded" && kafka === undefined)) continue
      tables.push(markdownTable(head, await costRows(part, kafka)))
    }
  } finally {
    await kafka?.stop()
  }
  const how = { pipelines, checkout, seconds, rounds }
  if (parts.includes("reload")) {
    tables.push(
      markdownTable(
        [`reload of ${count(pipelines)} pipelines`, "took ms", ...LONGEST],
        await reloadRows(how),
      ),
    )
  }
  if (parts.includes("metrics")) {
    tables.push(
      markdownTable(
        [`/metrics of ${count(pipelines)} pipelines`, "KB", "took ms", ...LONGEST],
        await metricsRows(how),
      ),
    )
  }
  if (parts.includes("start"))
    tables.push(markdownTable(["start of", "ms to the first event"], await startRows(how)))
  console.log(
    `\n${machine()}, ${connections} connections, 1.1 KB bodies, medians of ${rounds} rounds of ${seconds} s\n`,
  )
  console.log(tables.join("\n\n"))
}

await main()
