/**
 * `npm run bench`: what a pipeline costs beside a bare `Bun.serve` that reads the body and answers 200.
 *
 * Each target gets the same body over the same number of connections, in turn, for several rounds; the table shows
 * medians. CPU is that of the target's process tree; the ratios of one run are what counts, absolute figures move
 * with the machine. `--seconds N` and `--rounds N` set the length, `--connections N` the load.
 */
import { parseArgs } from "node:util"
import { openBenchKafka } from "./kafka.ts"
import { machine } from "./machine.ts"
import { medianSample } from "./median.ts"
import { measureInTurn } from "./rounds.ts"
import { markdownTable } from "./table.ts"
import { targetNamed } from "./targets.ts"

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "8" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" },
  },
})
const seconds = Number(flags.seconds)
const rounds = Number(flags.rounds)
const connections = Number(flags.connections)

async function main(): Promise<void> {
  const kafka = await openBenchKafka()
  const targets = ["bare", "embedded", "embedded-hmac", "hookline", "hookline-hmac"]
    .map(targetNamed)
    .filter(({ onKafka }) => !onKafka || kafka !== undefined)
  const load = { name: "load", arrivals: { connections }, body: "1.1 KB" } as const
  const runs = await measureInTurn(targets, load, { rounds, seconds, kafka }).finally(() => kafka?.stop())
  const base = medianSample(runs.get("bare")!)
  const rows = targets.map(({ name, title }) => {
    const it = medianSample(runs.get(name)!)
    return [
      title,
      it.perSecond.toFixed(0),
      (it.perSecond / base.perSecond).toFixed(2),
      it.p50.toFixed(2),
      it.p99.toFixed(2),
      it.cpuPerEvent.toFixed(1),
      (it.cpuPerEvent / base.cpuPerEvent).toFixed(2),
      it.peak.toFixed(0),
    ]
  })
  const head = ["target", "req/s", "ratio", "p50 ms", "p99 ms", "CPU us/event", "ratio", "peak MiB"]
  console.log(
    `\n${machine()}, ${connections} connections, 1.1 KB bodies, medians of ${rounds} rounds of ${seconds} s\n`,
  )
  console.log(markdownTable(head, rows))
}

await main()
