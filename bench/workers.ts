/**
 * `npm run bench:workers`: what a second worker brings, and what it costs: on a Kafka some milliseconds away, one
 * worker and two in turn, for several rounds; the table shows medians. CPU is that of all of Hookline's
 * processes; the load generator, and Kafka, have the same cores. There are many connections, or the way to Kafka and back
 * would be what is measured. `--seconds N`, `--rounds N`, `--connections N`,
 * `--delay MILLISECONDS` each way.
 */
import { parseArgs } from "node:util"
import { hookline } from "./hookline.ts"
import { openBenchKafka } from "./kafka.ts"
import { machine } from "./machine.ts"
import type { Sample } from "./measure.ts"
import { medianSample } from "./median.ts"
import { measureInTurn } from "./rounds.ts"
import { markdownTable } from "./table.ts"
import type { Target } from "./target.ts"

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "5" },
    connections: { type: "string", default: "1000" },
    delay: { type: "string", default: "2" },
  },
})
const [seconds, rounds, connections] = [flags.seconds, flags.rounds, flags.connections].map(Number) as [
  number,
  number,
  number,
]
const delayMs = Number(flags.delay)

const pair = (title: string, hmac: boolean): [Target, Target] => {
  const of = (workers: number): Target =>
    hookline({
      name: `${title} ${workers}`,
      title: `${title}, ${workers} ${workers === 1 ? "worker" : "workers"}`,
      log: "kafka",
      hmac,
      workers,
    })
  return [of(1), of(2)]
}

async function main(): Promise<void> {
  const kafka = await openBenchKafka({ delayMs })
  if (kafka === undefined) throw new Error("there is no Kafka, without which there are no workers")
  const pairs = [pair("Kafka", false), pair("Kafka, HMAC", true)]
  const targets = pairs.flat()
  const load = { name: "load", arrivals: { connections }, body: "1.1 KB" } as const
  const runs = await measureInTurn(targets, load, { rounds, seconds, kafka }).finally(() => kafka.stop())
  const medianOf = ({ name }: Target): Sample => medianSample(runs.get(name)!)
  const rows = pairs.flatMap(([one, two]) => [one, two].map((it) => row(it, medianOf(it), medianOf(one))))
  const head = [
    "target",
    "req/s",
    "ratio",
    "p50 ms",
    "p99 ms",
    "CPU us/event",
    "ratio",
    "cores",
    "Kafka's cores",
    "peak MiB",
  ]
  console.log(
    `\n${machine()}, ${connections} connections, 1.1 KB bodies, Kafka ${delayMs} ms away each way, medians of ${rounds} rounds of ${seconds} s\n`,
  )
  console.log(markdownTable(head, rows))
}

function row({ title }: Target, it: Sample, one: Sample): string[] {
  const cores = (cpuPerEvent: number): string => ((it.perSecond * cpuPerEvent) / 1e6).toFixed(2)
  return [
    title,
    it.perSecond.toFixed(0),
    (it.perSecond / one.perSecond).toFixed(2),
    it.p50.toFixed(2),
    it.p99.toFixed(2),
    it.cpuPerEvent.toFixed(1),
    (it.cpuPerEvent / one.cpuPerEvent).toFixed(2),
    cores(it.cpuPerEvent),
    cores(it.brokerCpuPerEvent),
    it.peak.toFixed(0),
  ]
}

await main()
