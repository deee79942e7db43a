/**
 * `npm run bench:listener`: Kafka clients at the embedded log, beside a real Kafka on the same machine. How fast kcat reads
 * 300,000 records of 1.1 KB, how soon a consumer has an event, and what consumers cost the service. `--seconds N` and
 * `--rounds N` set the length; `-- --write` puts the table into docs/benchmarks.md. Exit status 1: a figure misses its limit.
 */
import { $ } from "bun"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { steadyMs } from "../src/clock/clock.ts"
import { freePort } from "../test/support/ports.ts"
import { stripeShaped } from "./body.ts"
import { hookline, type StartedHookline } from "./hookline.ts"
import { openBenchKafka } from "./kafka.ts"
import { LogConsumer } from "./log-consumer.ts"
import { machine } from "./machine.ts"
import { median } from "./median.ts"
import { residentMiB } from "./process.ts"
import { DOCS } from "./results.ts"
import { markdownTable } from "./table.ts"

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "5" },
    records: { type: "string", default: "300000" },
    write: { type: "boolean", default: false },
  },
})
const SECONDS = Number(flags.seconds)
const ROUNDS = Number(flags.rounds)
const RECORDS = Number(flags.records)
const CONSUMERS = 100
const LATENCIES = 1000
const TOPIC = "bench"

interface Figure {
  readonly what: string
  readonly found: string
  readonly limit: string
  readonly isWithin: boolean
}

const figures: Figure[] = []
const note = (what: string, found: string, limit = "", isWithin = true): void => {
  figures.push({ what, found, limit, isWithin })
  console.log(`${what}: ${found}${isWithin ? "" : `, MISSED: ${limit}`}`)
}

/** A service whose log Kafka clients read. */
async function startLog(): Promise<StartedHookline & { readonly address: string }> {
  const address = `127.0.0.1:${await freePort()}`
  const target = hookline({ name: "listener", title: "", log: "embedded", kafkaListen: address })
  return { ...(await target.start(undefined)), address }
}

async function main(): Promise<void> {
  await readRate()
  await costOfConsumers()
  await idle()
  const rows = figures.map(({ what, found, limit }) => [what, found, limit])
  const table = markdownTable(["", "found", "limit"], rows)
  const text = `${machine()}, medians of ${ROUNDS} rounds:\n\n${table}\n`
  console.log(`\n${text}`)
  if (flags.write) writeToPage(text)
  if (figures.some(({ isWithin }) => !isWithin)) process.exitCode = 1
}

/** The same records in the embedded log and in Kafka, read by kcat in turns, and events on their way to a consumer. */
async function readRate(): Promise<void> {
  const service = await startLog()
  const kafka = await openBenchKafka()
  if (kafka === undefined) throw new Error("there is no Kafka to be had, which all of this is about")
  try {
    await using turn = await kafka.turn(1)
    const bootstrap = turn.bootstrapServers[0]!
    // a topic of a benchmark has a few records already
    const from = await turn.records()
    const behind = await LogConsumer.open(service.address, TOPIC)
    const load = { body: stripeShaped, arrivals: { connections: 64 }, seconds: SECONDS }
    while (behind.offset < RECORDS) await service.load(load)
    await behind[Symbol.asyncDispose]()
    const read = (address: string, topic: string, offset: number): string[] => [
      "kcat",
      "-q",
      "-C",
      "-b",
      address,
      "-t",
      topic,
      "-o",
      `${offset}`,
      "-c",
      `${RECORDS}`,
    ]
    const ours = read(service.address, TOPIC, 0)
    await $`${ours} | kcat -P -b ${bootstrap} -t ${turn.topic}`.quiet()
    const theirs = read(bootstrap, turn.topic, from)
    const sums = [await $`${ours} | md5sum`.text(), await $`${theirs} | md5sum`.text()]
    note("the same MD5 of all values", sums[0] === sums[1] ? "yes" : "no", "yes", sums[0] === sums[1])
    const rates: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] }
    for (let round = 0; round < ROUNDS; round++) {
      for (const side of ["ours", "theirs"] as const) {
        const startMs = steadyMs()
        await $`${side === "ours" ? ours : theirs} > /dev/null`
        rates[side].push((RECORDS / (steadyMs() - startMs)) * 1000)
      }
    }
    const [own, kafkas] = [median(rates.ours), median(rates.theirs)]
    note("records/s to kcat", own.toFixed(0))
    note("records/s to kcat, from Kafka", kafkas.toFixed(0))
    const ratio = own / kafkas
    note("ratio of the two", ratio.toFixed(2), "at least 0.6", ratio >= 0.6)
    await latency("embedded log", service, service.address, TOPIC, 2)

    const target = hookline({ name: "kafka", title: "", log: "kafka" })
    const beside = await target.start(turn)
    try {
      await latency("Kafka", beside, bootstrap, turn.topic)
    } finally {
      await beside.stop()
    }
  } finally {
    await service.stop()
    await kafka.stop()
  }
}

/** Posts an event after the other, each when the one before has arrived. */
async function latency(
  title: string,
  service: StartedHookline,
  address: string,
  topic: string,
  limitMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  await using consumer = await LogConsumer.open(address, topic)
  const all: number[] = []
  for (let n = 0; n < LATENCIES; n++) {
    const next = consumer.offset + 1
    const startMs = steadyMs()
    const posted = fetch(service.url!, { method: "POST", body: stripeShaped })
    await consumer.reached(next)
    all.push(steadyMs() - startMs)
    if (!(await posted).ok) throw new Error("an event was not accepted")
  }
  const at = (share: number): number => all.toSorted((a, b) => a - b)[Math.floor(share * (all.length - 1))]!
  const p50 = at(0.5)
  const limit = Number.isFinite(limitMs) ? `under ${limitMs} ms` : ""
  note(`post to consumer, ${title}, p50`, `${p50.toFixed(2)} ms`, limit, p50 < limitMs)
  note(`post to consumer, ${title}, p99`, `${at(0.99).toFixed(2)} ms`)
}

/** CPU of each thread, in microseconds. */
function cpuOf(pid: number): ReadonlyMap<string, number> {
  const threads = readdirSync(`/proc/${pid}/task`)
  const nanoseconds = (thread: string): number =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")[0])
  return new Map(threads.map((thread) => [thread, nanoseconds(thread) / 1000]))
}

/** Of each thread since then. */
function cpuSince(pid: number, before: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map([...cpuOf(pid)].map(([thread, us]) => [thread, us - (before.get(thread) ?? 0)]))
}

const sum = (cpu: ReadonlyMap<string, number>): number => [...cpu.values()].reduce((all, us) => all + us, 0)

/** What a live consumer, and a hundred, take of the service under load. */
async function costOfConsumers(): Promise<void> {
  const service = await startLog()
  const open = (count: number): Promise<LogConsumer[]> =>
    Promise.all(Array.from({ length: count }, () => LogConsumer.open(service.address, TOPIC)))
  const load = { body: stripeShaped, arrivals: { connections: 64 }, seconds: SECONDS }
  const perEvent = async (): Promise<ReadonlyMap<string, number>> => {
    const before = cpuOf(service.pid)
    const { requests } = await service.load(load)
    return new Map([...cpuSince(service.pid, before)].map(([thread, us]) => [thread, us / requests]))
  }
  try {
    await service.load(load)
    const costs: { listener: number; all: number }[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const without = await perEvent()
      const [consumer] = await open(1)
      const watched = await perEvent()
      await consumer![Symbol.asyncDispose]()
      // the listener's thread is the one that has more to do than before
      const more = [...watched].map(([thread, us]) => us - (without.get(thread) ?? 0))
      costs.push({ listener: Math.max(...more), all: sum(watched) - sum(without) })
    }
    const listener = median(costs.map((it) => it.listener))
    note(
      "a live consumer's CPU an event, in the listener's thread",
      `${listener.toFixed(1)} us`,
      "under 8 us",
      listener < 8,
    )
    note("the same, in all threads", `${median(costs.map((it) => it.all)).toFixed(1)} us`)

    // at 500 events a second each consumer gets each event by itself
    const paced = async (): Promise<number> => {
      const before = cpuOf(service.pid)
      const startMs = steadyMs()
      let events = 0
      while (steadyMs() - startMs < SECONDS * 1000) {
        await fetch(service.url!, { method: "POST", body: stripeShaped })
        events++
        await Bun.sleep(2)
      }
      return sum(cpuSince(service.pid, before)) / events
    }
    const alone = await paced()
    Bun.gc(true)
    const before = residentMiB(service.pid)
    const consumers = await open(CONSUMERS)
    const many = await paced()
    const memory = residentMiB(service.pid) - before
    note(`memory with ${CONSUMERS} consumers`, `${memory.toFixed(0)} MiB more`, "under 40 MiB", memory < 40)
    const each = (many - alone) / CONSUMERS
    note(`CPU an event and consumer, with ${CONSUMERS}`, `${each.toFixed(1)} us`)
    await Promise.all(consumers.map((one) => one[Symbol.asyncDispose]()))
  } finally {
    await service.stop()
  }
}

/** A listener that nobody uses beside none. */
async function idle(): Promise<void> {
  const without = await hookline({ name: "off", title: "", log: "embedded" }).start(undefined)
  const service = await startLog()
  try {
    await Bun.sleep(1000)
    const used = async (pid: number): Promise<() => number> => {
      const before = cpuOf(pid)
      return () => sum(cpuSince(pid, before)) / SECONDS / 1000
    }
    const ends = [await used(service.pid), await used(without.pid)]
    await Bun.sleep(SECONDS * 1000)
    const [on, off] = ends.map((end) => end()) as [number, number]
    note("CPU of an idle service a second, with the listener", `${on.toFixed(2)} ms`)
    note("the same, without", `${off.toFixed(2)} ms`)
    const memory = residentMiB(service.pid) - residentMiB(without.pid)
    note("memory of an idle listener", `${memory.toFixed(0)} MiB`)
  } finally {
    await service.stop()
    await without.stop()
  }
}

function writeToPage(text: string): void {
  const file = join(DOCS, "benchmarks.md")
  const page = readFileSync(file, "utf8")
  const [begin, end] = ["<!-- npm run bench:listener -- --write -->\n", "<!-- end of bench:listener -->\n"]
  const [from, to] = [page.indexOf(begin) + begin.length, page.indexOf(end)]
  writeFileSync(file, `${page.slice(0, from)}\n${text}\n${page.slice(to)}`)
}

await main()
