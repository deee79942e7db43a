import { expect } from "bun:test"
import { resolve } from "node:path"
import { isFull, report } from "./fault-table.ts"
import { compare, expectKept, firstsOf, type Findings, type Logged } from "./findings.ts"
import { temporaryFolder, type RunningHookline } from "./hookline.ts"
import { createTopic, freshTopic, type TestKafka, type TopicSettings } from "./kafka.ts"
import { NumberedSenders, type Posted, type Sending } from "./numbered-senders.ts"
import { PATIENT_MS } from "./hang.ts"
import { freePort } from "./ports.ts"
import { eventsInKafka, eventsInLog, onKafka, serving, startService } from "./webhook-service.ts"
import type { ServiceSettings } from "./webhook-service.ts"

export const DELIVERY_TIMEOUT_MS = 2000

/** Where a scenario's events are published, and how they are read back. */
export interface Destination extends Pick<ServiceSettings, "connection" | "topic" | "source"> {
  /** @param folder of the configuration file */
  events(folder: string): Promise<Logged[]>
}

/** A new topic of a Kafka; three partitions unless set. */
export async function onNewTopic(
  kafka: TestKafka,
  settings: TopicSettings = { partitions: 3 },
  connection = onKafka(kafka),
): Promise<Destination> {
  const topic = freshTopic()
  await createTopic(kafka, topic, settings)
  return { connection, topic, events: () => eventsInKafka(kafka, topic) }
}

/** An embedded log next to the configuration file, or elsewhere. */
export const onLog = (connection = "", directory = "log"): Destination => ({
  connection: `directory = ${directory}\n${connection}`,
  topic: "webhooks",
  events: (folder) => eventsInLog(resolve(folder, directory), "webhooks"),
})

/** A Hookline under load. */
export interface UnderLoad {
  readonly topic: string
  readonly senders: NumberedSenders
  /** Starts more senders, whose events count as well. */
  send(sending: Sending): NumberedSenders
  /** The one that runs now. */
  readonly running: RunningHookline
  /** Ends it, with SIGKILL unless told otherwise, and starts it anew. */
  restart(end?: (running: RunningHookline) => Promise<void>): Promise<void>
  /** The status of a path of its admin server. */
  probe(path: string): Promise<number>
}

export interface Scenario extends Partial<Omit<ServiceSettings, "connection" | "topic">> {
  /** What comes before Hookline's start. */
  readonly prepare?: () => unknown
  readonly sending?: Sending
  /** How many events are acknowledged before the fault and after it; 300 each unless given. */
  readonly events?: readonly [before: number, after: number]
  /** The fault and its end. @returns how many milliseconds passed until an event was acknowledged again, or nothing */
  readonly during: (load: UnderLoad) => Promise<number> | Promise<void>
  /** Which events count: the log's others are left out. All, unless given. */
  readonly only?: (posted: Posted) => boolean
  /** Whether every event that was sent has to be acknowledged; `deliveryTimeoutMs` is a minute then, unless given. */
  readonly allAcked?: boolean
  /** Whether records may be doubled; each then counts where it came first. */
  readonly mayDouble?: boolean
}

/** What is left of a scenario for assertions of its own. */
interface Outcome {
  readonly findings: Findings
  readonly posted: readonly Posted[]
  readonly logged: readonly Logged[]
  /** It is stopped. */
  readonly running: RunningHookline
}

/**
 * A scenario: starts a Hookline and posts numbered events before, during and after a fault, ends both, compares what was
 * answered with what is in the log, reports the row of the table, if it has one, and checks what is promised in every scenario.
 */
export async function fault(row: string | undefined, to: Destination, scenario: Scenario): Promise<Outcome> {
  const { prepare, sending = {}, events = [300, 300], during, ...rest } = scenario
  const { only, mayDouble = false, allAcked, ...settings } = rest
  using folder = temporaryFolder()
  const service: ServiceSettings = {
    folder: folder.path,
    deliveryTimeoutMs: allAcked === true ? PATIENT_MS : DELIVERY_TIMEOUT_MS,
    port: await freePort(),
    ...to,
    ...settings,
  }
  await using started = new AsyncDisposableStack()
  const start = async (): Promise<RunningHookline> => started.use(await startService(service))
  await prepare?.()
  let running = await start()
  const all: NumberedSenders[] = []
  const send = (more: Sending): NumberedSenders => {
    const senders = started.use(new NumberedSenders(serving(running), more))
    all.push(senders)
    return senders
  }
  const senders = send(sending)
  const load: UnderLoad = {
    topic: to.topic,
    senders,
    send,
    get running() {
      return running
    },
    async restart(end = kill) {
      await end(running)
      running = await start()
      senders.pid = running.pid
    },
    probe: async (path) => (await fetch(`${running.adminUrl}${path}`)).status,
  }
  const [before, after] = events
  if (before > 0) await senders.many(before)
  const backAfterMs = (await during(load)) as number | undefined
  if (after > 0) await senders.many(after)
  await Promise.all(all.map((each) => each.stop()))
  await running.stop()

  const posted = all.flatMap((each) => (only === undefined ? each.posted : each.posted.filter(only)))
  const numbers = only === undefined ? undefined : new Set(posted.map(({ number }) => number))
  const inLog = await to.events(service.folder)
  const logged = numbers === undefined ? inLog : inLog.filter(({ number }) => numbers.has(number))
  const firsts = firstsOf(logged)
  const findings = {
    ...compare(posted, mayDouble ? firsts : logged),
    doubled: logged.length - firsts.length,
  }
  if (row !== undefined) report(row, findings, backAfterMs)
  expectKept(mayDouble ? { ...findings, doubled: 0 } : findings, service.deliveryTimeoutMs!)
  if (allAcked === true) expect(findings.acknowledged).toBe(findings.sent)
  return { findings, posted, logged, running }
}

export const KILLS = isFull ? 20 : 4

/** Ends Hookline again and again, each time at another moment of its work. */
export const restarted = (
  times: number,
  end?: (running: RunningHookline) => Promise<void>,
): Pick<Scenario, "sending" | "events" | "during"> => ({
  sending: { pauseMs: 1 },
  events: [0, 50],
  async during({ senders, restart }) {
    for (let time = 0; time < times; time++) {
      await senders.many(50 + Math.floor(Math.random() * 100))
      await restart(end)
    }
  },
})

async function kill(running: RunningHookline): Promise<void> {
  running.signal("SIGKILL")
  await running.exited
}
