/**
 * `npm run bench:forward`: what it costs to post a topic of Kafka to a URL, 64 requests at once, beside Redpanda Connect and
 * beside loops of kcat and curl, in turns. The URL is a bare server in this process, which counts. `--records N` and `--rounds N`
 * set the length; `-- --write` puts the table into docs/benchmarks.md.
 */
import { $ } from "bun"
import { join } from "node:path"
import { startHookline, temporaryFolder } from "../test/support/hookline.ts"
import { stripeShaped } from "./body.ts"
import { readFlags } from "./flags.ts"
import { openBenchKafka } from "./kafka.ts"
import { median } from "./measure.ts"
import { cpuMicroseconds } from "./process.ts"
import { machine, writeSection } from "./results.ts"
import { markdownTable } from "./table.ts"
import type { Topic } from "./target.ts"

const { records, rounds, write } = readFlags({ records: 100_000, rounds: 3, write: false })
/** Records of the loop that starts a process for each. */
const FEW = 1000
const CONNECT = join(import.meta.dir, "peers/connect")

interface Forwarded {
  readonly perSecond: number
  /** CPU of all its processes, in microseconds. */
  readonly perRecord: number
}

/** A bare server, which counts what is posted to it. */
function startServer() {
  let [count, until] = [0, 0]
  let reached = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      await request.arrayBuffer()
      if (++count === until) reached.resolve()
      return new Response(null, { status: 200 })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/`,
    /** Resolves when that many more requests have come. */
    more(requests: number): Promise<void> {
      until = count + requests
      reached = Promise.withResolvers()
      return reached.promise
    },
    [Symbol.dispose]: () => void server.stop(true),
  }
}

type CountingServer = ReturnType<typeof startServer>
type Measure = (server: CountingServer, topic: Topic, round: number) => Promise<Forwarded>

/** Of a process that runs on, from the first tenth of the records to the last one. */
async function whileItRuns(server: CountingServer, pid: number): Promise<Forwarded> {
  const before = Math.ceil(records / 10)
  await server.more(before)
  const [startMs, startUs] = [performance.now(), cpuMicroseconds(pid)]
  const count = records - before
  await server.more(count)
  const seconds = (performance.now() - startMs) / 1000
  return { perSecond: count / seconds, perRecord: (cpuMicroseconds(pid) - startUs) / count }
}

const hookline: Measure = async (server, { bootstrapServers, topic }, round) => {
  using folder = temporaryFolder()
  const configuration = `[connection:kafka]
bootstrap_servers = ${bootstrapServers.join(", ")}
[pipeline:idle:WebHookSource]
[pipeline:idle:BrokerSink]
topic = ${topic}
[forward:bench${round}]
from = kafka/${topic}
begin = beginning
url = ${server.url}
concurrency = 64
`
  await using running = await startHookline(configuration, { folder: folder.path })
  return await whileItRuns(server, running.pid)
}

const connect: Measure = async (server, { bootstrapServers, topic }, round) => {
  const child = Bun.spawn([join(CONNECT, "start"), "forward.yaml"], {
    env: {
      ...process.env,
      BOOTSTRAP_SERVERS: bootstrapServers.join(","),
      TOPIC: topic,
      GROUP: `connect${round}`,
      URL: server.url,
    },
    stdio: ["ignore", "ignore", "inherit"],
  })
  try {
    return await whileItRuns(server, child.pid)
  } finally {
    child.kill()
    await child.exited
  }
}

/** A pipeline of the shell that ends with its records; the CPU is that of all its processes. */
const shell =
  (count: number, script: string): Measure =>
  async (server, { bootstrapServers, topic }) => {
    const startMs = performance.now()
    const env = {
      ...process.env,
      SERVERS: bootstrapServers.join(","),
      TOPIC: topic,
      URL: server.url,
      COUNT: `${count}`,
    }
    const child = Bun.spawn(["bash", "-euo", "pipefail", "-c", script], {
      env,
      stdio: ["ignore", "ignore", "inherit"],
    })
    const [status] = await Promise.all([child.exited, server.more(count)])
    if (status !== 0) throw new Error(`the loop ended with ${status}: ${script}`)
    const seconds = (performance.now() - startMs) / 1000
    return { perSecond: count / seconds, perRecord: Number(child.resourceUsage()!.cpuTime.total) / count }
  }

const READ = "kcat -q -C -b $SERVERS -t $TOPIC -o beginning -c $COUNT"
const LOOP = `${READ} | while IFS= read -r body; do curl -sS -o /dev/null --data-binary "$body" $URL; done`
const CONFIG = `s|["\\\\]|\\\\&|g; s|.*|next\\nurl = "'$URL'"\\noutput = /dev/null\\ndata-binary = "&"|`
const PARALLEL = `${READ} | sed '${CONFIG}' | curl -sS --parallel --parallel-max 64 --config -`

const TARGETS: readonly (readonly [title: string, measure: Measure])[] = [
  ["`[forward:…]`, `concurrency = 64`", hookline],
  ["Redpanda Connect, `kafka_franz` to `http_client`, 64 in flight", connect],
  [
    "`kcat \\| sed \\| curl --parallel --config -`, 64 in flight: one process, no retries, no position",
    shell(records, PARALLEL),
  ],
  ["`kcat \\| while read; do curl; done`", shell(FEW, LOOP)],
]

/** The median, and the least and the most of all rounds. */
const spread = (all: readonly number[]): string =>
  `${median(all).toFixed(0)} (${Math.min(...all).toFixed(0)} to ${Math.max(...all).toFixed(0)})`

async function main(): Promise<void> {
  await using kafka = await openBenchKafka()
  if (kafka === undefined) throw new Error("there is no Kafka to be had, which all of this is about")
  await using topic = await kafka.turn()
  using server = startServer()
  await $`yes ${stripeShaped} | head -n ${records} | kcat -P -b ${topic.bootstrapServers[0]!} -t ${topic.topic}`.quiet()
  await $`${CONNECT}/start build`
  const found = TARGETS.map((): Forwarded[] => [])
  for (let round = 0; round < rounds; round++)
    for (const [at, [title, measure]] of TARGETS.entries()) {
      const one = await measure(server, topic, round)
      console.log(`${title}: ${one.perSecond.toFixed(0)}/s, ${one.perRecord.toFixed(1)} us`)
      found[at]!.push(one)
    }
  const rows = TARGETS.map(([title], at) => [
    title,
    spread(found[at]!.map((it) => it.perSecond)),
    spread(found[at]!.map((it) => it.perRecord)),
  ])
  const head = ["", "records/s", "CPU µs a record"]
  const text = `${machine().replace(", wrk", "")}; ${records} records of 1.1 KB; medians of ${rounds} rounds, and all of them:\n\n${markdownTable(head, rows)}`
  console.log(`\n${text}\n`)
  if (write) await writeSection("forward", text)
}

await main()
