import { createHash } from "node:crypto"
import { pino } from "pino"
import type { LogReader, OffsetRange } from "../brokers/broker.ts"
import type { LogIdentity } from "../brokers/log-place.ts"
import type { Connection } from "../brokers/define-connection.ts"
import { toFileName } from "../process/file-name.ts"
import type { TopicPlace } from "../config/declarations.ts"
import { HooklineError } from "../errors.ts"
import { BrokerTarget } from "../replay/broker-target.ts"
import { ReplayJob } from "../replay/job.ts"
import type { Stored } from "../replay/position-tables.ts"
import { positionFile, type Positions } from "../replay/positions.ts"
import { urlTarget } from "../replay/post.ts"
import { countRecords, selectRecords, type Selection } from "../replay/range.ts"
import { agreeWith, TopicEpochs } from "../replay/set-back.ts"
import { isSameLog } from "../replay/same-log.ts"
import { toShownUrl } from "../outgoing/shown-url.ts"
import type { ReplayTarget } from "../replay/target.ts"
import { Application } from "../runtime/application.ts"
import type { StateFlags } from "./common-flags.ts"
import type { NamedTopic } from "./connections-of.ts"
import { leaveFolder } from "./folder.ts"
import { Interruption } from "./interruption.ts"
import { parseCondition, type Matches } from "../brokers/record-filter.ts"
import { canReplay, replayByService, type Asked } from "./replay-by-service.ts"
import { displayReplay } from "./replay-display.ts"
import { RunningService } from "./running-service.ts"
import { checkName, connectionNamed, openPositions, stateFolder } from "./state-folder.ts"
import { replayPlaces, type NamedRange } from "./topic-range.ts"
import { WaitingNotes } from "./waiting.ts"
import { untilAvailable } from "../replay/until-available.ts"
import { counted } from "../words.ts"

export interface ReplayFlags extends StateFlags, Asked {
  readonly to: TopicPlace | URL
  readonly name?: string
  readonly restart?: true
  readonly dryRun?: true
}

/** The flags as they are given. */
export interface NamedReplay extends Omit<ReplayFlags, "from" | "to"> {
  readonly from: NamedRange
  readonly to: NamedTopic | URL
}

/** What is replayed, as the command line says it: an interrupted replay is resumed if it is the same. */
interface Request {
  readonly from: string
  readonly to: string
  readonly partition: number | null
  readonly where: readonly string[]
}

/** What is kept with the position. */
interface About extends LogIdentity {
  readonly request: Request
  readonly selection: Selection
}

/** Where records go, as the configuration has it. */
type Destination = URL | { readonly topic: string; readonly id: string; readonly connection: Connection }

/**
 * Replays records; the exit status is 0 when all were, 1 when some were refused and skipped or no longer in the log, 130 or 143 when it was
 * interrupted.
 *
 * @throws HooklineError `config`, `usage`, `no_input`, `no_log`, `no_topic`, `log_locked`, `log_io`, and that of a record
 *   that the target refused
 */
export async function replay(given: NamedReplay): Promise<void> {
  const app = Application.fromFile(given.config)
  const flags = { ...given, ...replayPlaces(app, given) }
  const { from, to } = flags
  const state = stateFolder(app, flags.state)
  const source = connectionNamed(app, from.connection)
  const destination: Destination =
    to instanceof URL
      ? to
      : { topic: to.topic, id: to.connection, connection: connectionNamed(app, to.connection) }
  const request = requestOf(flags)
  const name = checkName(flags.name ?? nameOf(flags, request))
  const service = serviceOf(flags.config)
  leaveFolder()

  using interruption = new Interruption()
  const { signal } = interruption
  const reader = await app.openReader(from.connection)
  const run: Run = { flags, reader, matches: matcherOf(flags), signal, notes: new WaitingNotes(), service }
  try {
    if (!(destination instanceof URL) && destination.topic === from.topic) {
      const open = (): Promise<LogReader> => app.openReader(destination.id)
      const isSame = (): Promise<boolean> =>
        isSameLog({ connection: source, reader }, destination.connection, open)
      if ((await untilAvailable(isSame, run)) === true)
        throw new HooklineError("usage", "--from and --to are the same topic")
    }
    if (flags.dryRun === true) return await count(run)
    const store = openPositions<About>(positionFile(state, "replay", name))
    let isLeft = true
    try {
      isLeft = await runReplay(run, name, request, destination, store)
    } finally {
      if (isLeft && store.read() !== undefined) store.close()
      else store.remove()
    }
  } finally {
    await reader.close()
    if (interruption.status !== undefined) process.exitCode = interruption.status
  }
}

interface Run {
  readonly flags: ReplayFlags
  readonly reader: LogReader
  readonly matches: Matches | undefined
  readonly signal: AbortSignal
  readonly notes: WaitingNotes
  /** undefined: the file gives it no fixed address. */
  readonly service: RunningService | undefined
}

function serviceOf(file: string | undefined): RunningService | undefined {
  try {
    return new RunningService(file)
  } catch (error) {
    if (error instanceof HooklineError) return undefined
    throw error
  }
}

async function count(run: Run): Promise<void> {
  const { flags, reader, matches, signal } = run
  const selection = await select(run)
  if (selection === undefined) return
  const limitMs = Number.POSITIVE_INFINITY
  const { records } = await countRecords(reader, selection, matches, { signal, limitMs })
  if (signal.aborted) return
  console.log(
    flags.json === true ? JSON.stringify({ records }) : `${counted(records, "record")} would be replayed`,
  )
}

/** @returns whether some of the range is left */
async function runReplay(
  run: Run,
  name: string,
  request: Request,
  destination: Destination,
  store: Positions<About>,
): Promise<boolean> {
  const { flags, reader, matches, signal, notes } = run
  const stored = flags.restart === true ? undefined : resumable(store.read(), request, name)
  const selection = stored?.about.selection ?? (await select(run))
  if (selection === undefined) return true
  const topic = flags.from.topic
  const log = await untilAvailable(() => identify(reader, topic), run)
  if (log === undefined) return true
  const epochs = new TopicEpochs(reader, topic)
  if (stored !== undefined) checkAgrees(epochs, stored, log, name)
  const opened = await openTarget(destination, selection, flags).catch(async (error: unknown) => {
    if (stored !== undefined || !(await isDoneElsewhere(run, destination, error))) throw error
  })
  if (opened === undefined) return false
  const { target, close } = opened
  if (stored === undefined) store.begin({ request, selection, ...log.identity }, NOTHING)
  const job = new ReplayJob({
    reader,
    selection,
    matches,
    target,
    rate: flags.rate,
    onRefusal: flags.onRefusal,
    from: stored?.position,
    save: (position, failures) => store.save(epochs.with(position), failures),
  })
  signal.addEventListener("abort", () => void job.cancel(), { once: true })
  using display = displayReplay(name, job, notes, flags.json === true)
  if (stored !== undefined) display.resumed()
  await job.start()
  await close()
  display.end()
  if (job.error !== undefined) throw job.error
  const { state, failed, missed } = job.progress()
  process.exitCode = failed + missed > 0 ? 1 : 0
  return state !== "done"
}

/** Whether the running service that has the target's log open has done the replay. */
async function isDoneElsewhere(run: Run, destination: Destination, error: unknown): Promise<boolean> {
  const { flags, service } = run
  const isLocked = error instanceof HooklineError && error.code === "log_locked"
  if (!isLocked || service === undefined || destination instanceof URL) return false
  const { connection, id, topic } = destination
  const elsewhere = { ...run, service, connection, to: { connection: id, topic } }
  const isAble = await canReplay(flags, elsewhere).catch((cause: unknown) => {
    if (cause instanceof HooklineError) return false
    throw cause
  })
  if (isAble) await replayByService(flags, elsewhere)
  return isAble
}

const select = (run: Run): Promise<Selection | undefined> => {
  const { from, partition } = run.flags
  return untilAvailable(() => selectRecords(run.reader, from.topic, { ...from.range, partition }), run)
}

const NOTHING = { next: new Map<number, number>(), replayed: 0, failed: 0 }

/** @throws HooklineError `usage` if it is another replay's */
function resumable(
  stored: Stored<About> | undefined,
  request: Request,
  name: string,
): Stored<About> | undefined {
  if (stored === undefined || Bun.deepEquals(stored.about.request, request)) return stored
  const { from, to: whole } = stored.about.request
  const to = URL.canParse(whole) ? toShownUrl(new URL(whole)) : whole
  throw new HooklineError(
    "usage",
    `${name} is an interrupted replay of other records, from ${from} to ${to}; choose another --name, or drop that one with --restart`,
  )
}

interface FoundLog {
  readonly identity: LogIdentity
  readonly held: readonly OffsetRange[]
}

async function identify(reader: LogReader, topic: string): Promise<FoundLog> {
  const held = await reader.ranges(topic)
  const clusterId = await reader.clusterId()
  const topicId = await reader.topicId?.(topic)
  return {
    identity: { ...(clusterId !== undefined && { clusterId }), ...(topicId !== undefined && { topicId }) },
    held,
  }
}

/** Offsets of a range mean other records in another log. @throws HooklineError `usage` */
function checkAgrees(
  epochs: TopicEpochs,
  stored: Stored<About>,
  { identity, held }: FoundLog,
  name: string,
): void {
  const agreed = agreeWith(epochs, held, stored, identity)
  if (agreed.kind === "agreed" && agreed.setBack.length === 0) return
  const now = agreed.kind === "agreed" ? "an earlier copy of the log" : agreed.kind
  throw new HooklineError(
    "usage",
    `${name} is an interrupted replay, and ${now} is in the place of the one whose records it has read; begin it anew with --restart, and choose what to replay by time or offset`,
  )
}

async function openTarget(
  destination: Destination,
  { partitions }: Selection,
  { timestamps }: ReplayFlags,
): Promise<{ target: ReplayTarget; close: () => Promise<void> }> {
  if (destination instanceof URL) return { target: urlTarget(destination), close: async () => {} }
  const { topic, connection, id } = destination
  try {
    const broker = await connection.kind.open(connection.values, pino({ level: "silent" }))
    const target = new BrokerTarget({ broker, topic, partitions, newTimes: timestamps === "new" })
    return { target, close: () => broker.close() }
  } catch (error) {
    if (!(error instanceof HooklineError) || error.code !== "log_locked") throw error
    throw new HooklineError(
      "log_locked",
      `connection ${id}: ${error.message}. If that is a running Hookline, it can do the replay itself: on the Replay view of its admin page, or by POST /api/replays`,
      { cause: error },
    )
  }
}

const requestOf = ({ from, to, partition, where = [] }: ReplayFlags): Request => ({
  from: from.text,
  to: to instanceof URL ? to.href : `${to.connection}/${to.topic}`,
  partition: partition ?? null,
  where,
})

/** The same for the same replay. */
function nameOf({ from, to }: ReplayFlags, request: Request): string {
  const target = to instanceof URL ? to.host : `${to.connection}-${to.topic}`
  const words = toFileName(`${from.connection}-${from.topic}-to-${target}`).slice(0, 80)
  return `${words}-${createHash("sha256").update(JSON.stringify(request)).digest("hex").slice(0, 8)}`
}

function matcherOf({ where = [] }: ReplayFlags): Matches | undefined {
  if (where.length === 0) return undefined
  const conditions = where.map(parseCondition)
  return (record) => conditions.every((fits) => fits(record))
}
