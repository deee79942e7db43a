/**
 * `npm run bench:listener`: Kafka clients at the embedded log, beside a real Kafka on the same machine. How fast kcat reads
 * 300,000 records of 1.1 KB, how soon a consumer has an event, and what consumers cost the service. `--seconds N` and
 * `--rounds N` set the length; `-- --write` puts the table into docs/benchmarks.md. Exit status 1: a figure misses its limit.
 */
import { $ } from "bun"
import { readdirSync, readFileSync } from "node:fs"
import { steadyMs } from "../src/clock/clock.ts"
import { startConsumer, type RunningConsumer } from "../test/support/kafka-clients.ts"
import { paced } from "../test/support/paced.ts"
import { freePort } from "../test/support/ports.ts"
import { stripeShaped } from "./body.ts"
import { readFlags } from "./flags.ts"
import { hookline, postOne, type StartedHookline } from "./hookline.ts"
import { openBenchKafka } from "./kafka.ts"
import { medianSample, timed, times } from "./measure.ts"
import { residentMiB } from "./process.ts"
import { machine, writeSection } from "./results.ts"
import { markdownTable } from "./table.ts"

const { seconds, rounds, records, write } = readFlags({
  seconds: 5,
  rounds: 5,
  records: 300_000,
  write: false,
})
const LOAD = { body: stripeShaped, arrivals: { connections: 64 }, seconds }
const CONSUMERS = 100
const LATENCIES = 1000
const TOPIC = "bench"

const rows: string[][] = []
/** A figure of the table, which may have a limit. */
const note = (what: string, found: string, limit = "", isWithin = true): void => {
  rows.push([what, found, limit])
  if (!isWithin) process.exitCode = 1
  console.log(`${what}: ${found}${isWithin ? "" : `, MISSED: ${limit}`}`)
}

/** A service whose log Kafka clients read. */
async function startLog(): Promise<StartedHookline & { readonly address: string }> {
  const address = `127.0.0.1:${await freePort()}`
  const target = hookline({ log: "embedded", kafkaListen: address })
  return { ...(await target.start(undefined)), address }
}

async function main(): Promise<void> {
  await readRate()
  await costOfConsumers()
  await idle()
  const text = `${machine()}, medians of ${rounds} rounds:\n\n${markdownTable(["", "found", "limit"], rows)}`
  console.log(`\n${text}\n`)
  if (write) await writeSection("listener", text)
}

/** The same records in the embedded log and in Kafka, read by kcat in turns, and events on their way to a consumer. */
async function readRate(): Promise<void> {
  await using service = await startLog()
  await using kafka = await openBenchKafka()
  if (kafka === undefined) throw new Error("there is no Kafka to be had, which all of this is about")
  await using turn = await kafka.turn({ partitions: 1 })
  const bootstrap = turn.bootstrapServers[0]!
  // a topic of a benchmark has a few records already
  const from = await turn.records()
  for (let stored = 0; stored < records;) stored += (await service.load(LOAD)).requests
  const read = (address: string, topic: string, offset: number): string[] =>
    `kcat -q -C -b ${address} -t ${topic} -o ${offset} -c ${records}`.split(" ")
  const ours = read(service.address, TOPIC, 0)
  await $`${ours} | kcat -P -b ${bootstrap} -t ${turn.topic}`.quiet()
  const theirs = read(bootstrap, turn.topic, from)
  const sums = [await $`${ours} | md5sum`.text(), await $`${theirs} | md5sum`.text()]
  note("the same MD5 of all values", sums[0] === sums[1] ? "yes" : "no", "yes", sums[0] === sums[1])
  const rate = async (command: string[]): Promise<number> =>
    (records / (await timed(() => $`${command} > /dev/null`))) * 1000
  const rates = await times(rounds, async () => ({ own: await rate(ours), kafkas: await rate(theirs) }))
  const { own, kafkas } = medianSample(rates)
  note("records/s to kcat", own.toFixed(0))
  note("records/s to kcat, from Kafka", kafkas.toFixed(0))
  const ratio = own / kafkas
  note("ratio of the two", ratio.toFixed(2), "at least 0.6", ratio >= 0.6)
  await latency("embedded log", service, service.address, TOPIC, 2)

  const target = hookline({ log: "kafka" })
  await using beside = await target.start(turn)
  await latency("Kafka", beside, bootstrap, turn.topic)
}

/** A consumer that writes the offset of each record, from the topic's last one on, which it has. */
async function follow(address: string, topic: string): Promise<RunningConsumer & { readonly last: number }> {
  const consumer = startConsumer(`kcat -q -u -C -b ${address} -t ${topic} -p 0 -o -1 -f %o\\n`.split(" "))
  return { ...consumer, last: Number(await consumer.said(/^\d+(?=\n)/)) }
}

/** Posts an event after the other, each when the one before has arrived. */
async function latency(
  title: string,
  service: StartedHookline,
  address: string,
  topic: string,
  limitMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  await using consumer = await follow(address, topic)
  let offset = consumer.last
  const all = await times(LATENCIES, async () => {
    const startMs = steadyMs()
    const posted = postOne(service)
    await consumer.said(new RegExp(`^${++offset}$`, "m"))
    const ms = steadyMs() - startMs
    await posted
    return ms
  })
  const at = (share: number): number => all.toSorted((a, b) => a - b)[Math.floor(share * (all.length - 1))]!
  const p50 = at(0.5)
  const limit = Number.isFinite(limitMs) ? `under ${limitMs} ms` : ""
  note(`post to consumer, ${title}, p50`, `${p50.toFixed(2)} ms`, limit, p50 < limitMs)
  note(`post to consumer, ${title}, p99`, `${at(0.99).toFixed(2)} ms`)
}

type ThreadCpu = ReadonlyMap<string, number>

/** Counts the CPU of each thread from now on. @returns its microseconds until it is called */
function countCpu(pid: number): () => ThreadCpu {
  const read = (): ThreadCpu =>
    new Map(
      readdirSync(`/proc/${pid}/task`).map((thread) => {
        const [nanoseconds] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")
        return [thread, Number(nanoseconds) / 1000]
      }),
    )
  const before = read()
  return () => new Map([...read()].map(([thread, us]) => [thread, us - (before.get(thread) ?? 0)]))
}

const sum = (cpu: ThreadCpu): number => [...cpu.values()].reduce((all, us) => all + us, 0)

/** What a live consumer, and a hundred, take of the service under load. */
async function costOfConsumers(): Promise<void> {
  await using service = await startLog()
  const open = (): Promise<RunningConsumer> => follow(service.address, TOPIC)
  const perEvent = async (): Promise<ThreadCpu> => {
    const used = countCpu(service.pid)
    const { requests } = await service.load(LOAD)
    return new Map([...used()].map(([thread, us]) => [thread, us / requests]))
  }
  await service.load(LOAD)
  const costs = await times(rounds, async () => {
    const without = await perEvent()
    const consumer = await open()
    const watched = await perEvent()
    await consumer[Symbol.asyncDispose]()
    // the listener's thread is the one that has more to do than before
    const more = [...watched].map(([thread, us]) => us - (without.get(thread) ?? 0))
    return { listener: Math.max(...more), all: sum(watched) - sum(without) }
  })
  const what = "a live consumer's CPU an event, in the listener's thread"
  const { listener, all } = medianSample(costs)
  note(what, `${listener.toFixed(1)} us`, "under 8 us", listener < 8)
  note("the same, in all threads", `${all.toFixed(1)} us`)

  // at 500 events a second each consumer gets each event by itself
  const slowly = async (): Promise<number> => {
    const used = countCpu(service.pid)
    const events = await paced(500, seconds, () => postOne(service), 1)
    return sum(used()) / events
  }
  const alone = await slowly()
  Bun.gc(true)
  const before = residentMiB(service.pid)
  const consumers = await Promise.all(Array.from({ length: CONSUMERS }, open))
  const many = await slowly()
  const memory = residentMiB(service.pid) - before
  note(`memory with ${CONSUMERS} consumers`, `${memory.toFixed(0)} MiB more`, "under 40 MiB", memory < 40)
  const each = (many - alone) / CONSUMERS
  note(`CPU an event and consumer, with ${CONSUMERS}`, `${each.toFixed(1)} us`)
  await Promise.all(consumers.map((one) => one[Symbol.asyncDispose]()))
}

/** A listener that nobody uses beside none. */
async function idle(): Promise<void> {
  await using without = await hookline({ log: "embedded" }).start(undefined)
  await using service = await startLog()
  await Bun.sleep(1000)
  const used = [service, without].map(({ pid }) => countCpu(pid))
  await Bun.sleep(seconds * 1000)
  const [on, off] = used.map((count) => sum(count()) / seconds / 1000) as [number, number]
  note("CPU of an idle service a second, with the listener", `${on.toFixed(2)} ms`)
  note("the same, without", `${off.toFixed(2)} ms`)
  const memory = residentMiB(service.pid) - residentMiB(without.pid)
  note("memory of an idle listener", `${memory.toFixed(0)} MiB`)
}

await main()
