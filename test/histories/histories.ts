import { chmodSync } from "node:fs"
import { join } from "node:path"
import { reasonOf } from "../../src/brokers/kafka/failure.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { createTopic } from "../support/kafka.ts"
import { compileClock, openClock } from "./clock.ts"
import { BROKERS, PARTITIONS, startCluster, untilInSync } from "./cluster.ts"
import { KINDS, type Harmed } from "./faults.ts"
import { HistoryFile, type Run } from "./history.ts"
import { Load } from "./load.ts"
import { Network } from "./network.ts"
import { plan, type Subject } from "./plan.ts"
import { Readers } from "./readers.ts"
import { Service, TOPICS } from "./service.ts"

export interface Settings extends Run {
  /** Where the history and Hookline's log are kept. */
  readonly folder: string
  /** Ends it early: all is stopped. */
  readonly signal: AbortSignal
}

const HEALED_WITHIN_MS = 300_000
/** So long nothing comes when everything has been read. */
const SILENT_MS = 3000

/**
 * Runs Hookline on a cluster under load and faults, heals all, and reads what is in the log.
 *
 * @returns the path of the history
 */
export async function makeHistory({ folder, signal, ...run }: Settings): Promise<string> {
  await using stack = new AsyncDisposableStack()
  const temporary = stack.use(temporaryFolder())
  const history = stack.use(new HistoryFile(join(folder, "history.jsonl"), steadyMs))
  history.add({ f: "run", ...run, topics: TOPICS })
  const { seed, perSecond } = run
  const lengthMs = run.minutes * 60_000
  const library = compileClock(temporary.path)
  const network = stack.use(await Network.open())
  const cluster = await startCluster(
    network,
    Array.from({ length: BROKERS }, (_, at) => openClock(library, join(temporary.path, `clock-${at + 1}`))),
  )
  stack.use(cluster.kafka)
  const servers = cluster.kafka.bootstrapServers
  for (const topic of Object.keys(TOPICS))
    await createTopic(cluster.kafka, topic, { partitions: PARTITIONS, replicas: BROKERS })
  const service = new Service(
    {
      machine: await network.machine("Hookline"),
      clock: openClock(library, join(temporary.path, "clock")),
      folder: ownFolder(temporary.make("hookline")),
      logFile: join(folder, "hookline.log"),
    },
    servers,
    history,
  )
  await service.start()
  stack.defer(() => service.end("SIGKILL"))
  const readers = stack.use(new Readers(servers, history))
  const partitions = new Map(Object.keys(TOPICS).map((topic) => [topic, PARTITIONS]))
  for (const topic of Object.keys(TOPICS))
    for (let partition = 0; partition < PARTITIONS; partition++) readers.follow(topic, partition)
  const urls = Object.fromEntries(Object.keys(TOPICS).map((topic) => [topic, service.urlOf(topic)]))
  const load = new Load(history, urls, { perSecond, seed, redeliverTo: "deduplicated", signal })
  stack.defer(() => load.stop())

  const harmed = { cluster, network, service, readers, partitions }
  const startMs = steadyMs()
  const ended = await Promise.allSettled(
    (["brokers", "service"] as const).map((subject) =>
      harm(harmed, { subject, seed, lengthMs, startMs, history, signal }),
    ),
  )
  for (const it of ended) if (it.status === "rejected") throw it.reason
  await sleepUntil(startMs + lengthMs, signal)
  await load.stop()
  signal.throwIfAborted()
  await untilInSync(cluster, Object.keys(TOPICS), HEALED_WITHIN_MS)
  await until("the spool is empty", async () => (await service.spooled()) === 0)
  await untilSilent(harmed)
  for (const [topic, count] of partitions) {
    for (let partition = 0; partition < count; partition++) {
      const end = await readers.readToEnd(topic, partition)
      await until("it has been read", () => readers.next(topic, partition) >= end).catch(() => {})
    }
  }
  return history.path
}

/** A folder that only this user may open, as the spool wants it. */
function ownFolder(path: string): string {
  chmodSync(path, 0o700)
  return path
}

/** Does the planned faults of a subject one after the other. */
async function harm(
  harmed: Harmed,
  run: {
    readonly subject: Subject
    readonly seed: number
    readonly lengthMs: number
    readonly startMs: number
    readonly history: HistoryFile
    readonly signal: AbortSignal
  },
): Promise<void> {
  const { subject, seed, lengthMs, startMs, history, signal } = run
  for (const { atMs, kind, forMs, random } of plan(KINDS, subject, seed, lengthMs)) {
    // The one before may have taken longer to end than was planned.
    if (steadyMs() > startMs + lengthMs) return
    await sleepUntil(startMs + atMs, signal)
    const note = (type: "begin" | "end" | "note", on: string): void =>
      history.add({ f: "fault", type, kind, on })
    try {
      const { on, end } = await KINDS[kind]!.begin(harmed, random)
      note("begin", on)
      await sleepUntil(steadyMs() + forMs, signal).finally(end)
      note("end", on)
    } catch (error) {
      if (signal.aborted) throw error
      note("note", `not begun or not ended: ${reasonOf(error)}`)
    }
  }
}

async function sleepUntil(ms: number, signal: AbortSignal): Promise<void> {
  while (steadyMs() < ms) {
    signal.throwIfAborted()
    await Bun.sleep(Math.min(100, ms - steadyMs()))
  }
}

/** Waits until nothing has come for a while. */
async function untilSilent({ readers, partitions }: Harmed): Promise<void> {
  const where = (): string =>
    [...partitions]
      .flatMap(([topic, count]) => Array.from({ length: count }, (_, at) => readers.next(topic, at)))
      .join()
  for (
    let [before, sinceMs] = [where(), steadyMs()];
    steadyMs() < sinceMs + SILENT_MS;
    await Bun.sleep(100)
  ) {
    const now = where()
    if (now !== before) [before, sinceMs] = [now, steadyMs()]
  }
}
