import type { LogReader, OffsetRange, StoredRecord } from "../brokers/broker.ts"
import { endlessFrom, watchPartitions, type OffsetGap } from "../replay/follow.ts"
import { HooklineError } from "../errors.ts"
import { ReplayJob } from "../replay/job.ts"
import type { Attempt, Attempted } from "../replay/keyed-target.ts"
import type { ReplayPosition } from "../replay/progress.ts"
import { lengthOf } from "../replay/range.ts"
import { positionFile, type Positions } from "../replay/positions.ts"
import { urlTarget } from "../replay/post.ts"
import { toShownUrl } from "../replay/request-of-record.ts"
import { isReplaced } from "../replay/same-log.ts"
import { Application } from "../runtime/application.ts"
import { escapeLine } from "../telemetry/escape-controls.ts"
import { isColoured, painter, type Style } from "./colours.ts"
import { eventTypeIn } from "./event-type.ts"
import { leaveFolder } from "./folder.ts"
import { Interruption } from "./interruption.ts"
import { pipelinesIn, refuseOwnPipeline } from "./own-pipeline.ts"
import { checkName, connectionNamed, openPositions, stateFolder } from "./state-folder.ts"
import type { TopicPlace } from "./topic-range.ts"
import { untilAvailable, WaitingNotes } from "./waiting.ts"

export interface ForwardFlags {
  readonly config?: string
  readonly name?: string
  readonly from?: "beginning" | "end"
  readonly onRefusal: "stop" | "skip"
  readonly tries: number
  readonly concurrency: number
  readonly state?: string
}

/** What is kept of a forward in addition to its position. */
export interface Forward extends TopicPlace {
  /** The URL with its password and query: the file is readable by its owner alone. */
  readonly url: string
  /** The id of the log that the position is of: another log has other records at these offsets. */
  readonly clusterId?: string
}

const NOTE_MS = 500

/**
 * Posts each record of a topic to a URL, in order or in order within a key, from where an earlier run of the same name got to, until interrupted.
 *
 * @throws HooklineError `config`, `usage`, `no_input`, `log_locked` while another process forwards under that name, `log_io`,
 *   `refused` for a refused record where that is to stop it
 */
export async function forward(place: TopicPlace, url: URL, flags: ForwardFlags): Promise<void> {
  const app = Application.fromFile(flags.config)
  connectionNamed(app, place.connection)
  refuseOwnPipeline(url, place, pipelinesIn(flags.config), app.connectionIds())
  const name = checkName(flags.name ?? nameOf(place))
  const location = positionFile(stateFolder(app, flags.state), "forward", name)
  const typeOf = eventTypeIn(flags.config, place.topic)
  leaveFolder()

  using interruption = new Interruption()
  using store = openPositions<Forward>(location)
  const about = describe(store, place, url, name, flags)
  const open = (): Promise<LogReader> => app.openReader(place.connection)
  const run = { store, about, open, signal: interruption.signal, notes: new WaitingNotes() }
  await runForward(run, printer(typeOf), flags)
  // what follows ends by an interrupt
  if (interruption.status !== undefined) process.exitCode = 0
}

/** What is forwarded, compared with what was under this name. @throws HooklineError `usage` for another topic */
function describe(
  store: Positions<Forward>,
  place: TopicPlace,
  { href: url }: URL,
  name: string,
  { from }: ForwardFlags,
): Forward {
  const before = store.read()?.about
  if (before === undefined) return { ...place, url }
  const { connection, topic } = before
  if (connection !== place.connection || topic !== place.topic)
    throw new HooklineError("usage", `${name} forwards ${connection}/${topic}; choose another --name`)
  const about = { ...before, url }
  if (before.url !== url) {
    console.error(`${name} was posted to ${toShownUrl(new URL(before.url))} before; it continues from there`)
    store.describe(about)
  }
  if (from !== undefined)
    console.error(
      `${name} continues where it stopped: --from applies to a new forward (see hookline forward remove)`,
    )
  return about
}

interface Run {
  readonly store: Positions<Forward>
  readonly about: Forward
  readonly open: () => Promise<LogReader>
  readonly signal: AbortSignal
  readonly notes: WaitingNotes
}

async function runForward(
  run: Run,
  attempted: Attempted,
  { from = "end", onRefusal, tries, concurrency }: ForwardFlags,
): Promise<void> {
  const { connection, topic, url } = run.about
  const found = await find(run)
  if (found === undefined) return
  const { reader, held, clusterId } = found
  try {
    const position = positionOf(run, clusterId, from === "end" ? held : [])
    const { ranges, gaps } = endlessFrom(position, held)
    for (const gap of gaps) console.error(describeGap(topic, gap))
    const left = lengthOf(held.map((range, at) => ({ ...range, first: ranges[at]!.first })))
    const waiting = left === 0 ? "" : `, ${left} waiting`
    console.error(`forwarding ${connection}/${topic} to ${toShownUrl(new URL(url))}${waiting}`)
    const job = new ReplayJob({
      reader,
      selection: { topic, ranges, partitions: held.length },
      target: urlTarget(new URL(url), { patience: { refusals: tries }, concurrency, attempted }),
      onRefusal,
      from: { ...position, next: new Map() },
      missed: ({ partition, first, end }) =>
        console.error(describeGap(topic, { partition, first: end, next: first, kind: "deleted" })),
      save: (position, failures) => run.store.save(position, failures),
    })
    await follow(run, job, ranges)
    if (job.error !== undefined) throw job.error
  } finally {
    await reader.close()
  }
}

async function follow(run: Run, job: ReplayJob, ranges: readonly OffsetRange[]): Promise<void> {
  const ended = new AbortController()
  const signal = AbortSignal.any([run.signal, ended.signal])
  run.signal.addEventListener("abort", () => void job.cancel(), { once: true })
  const timer = setInterval(() => {
    run.notes.note(job.sourceProblem)
    run.store.setWaiting(job.progress().problem)
  }, NOTE_MS)
  const watching = watchPartitions(run.open, run.about.topic, ranges, (more) => job.extend(more), signal)
  try {
    await Promise.race([job.start(), watching])
    await job.cancel()
  } finally {
    clearInterval(timer)
    ended.abort()
  }
  await watching
}

/** Waits for the log and its topic; undefined: until it was interrupted. */
function find(run: Run) {
  const attempt = async () => {
    await using opened = new AsyncDisposableStack()
    const reader = opened.adopt(await run.open(), (it) => it.close())
    const held = await reader.ranges(run.about.topic)
    const clusterId = await reader.clusterId()
    opened.move()
    return { reader, held, clusterId }
  }
  return untilAvailable(attempt, {
    ...run,
    everyMs: NOTE_MS,
    mayPass: ({ retryHelps }) => retryHelps,
    beforeWait: ({ code, message }) => {
      // all that is published to a topic that does not exist yet is new
      if (code !== "unavailable" && run.store.read() === undefined) begin(run, run.about, [])
      run.store.setWaiting(message)
    },
  })
}

/** @param held as `begin`, for a new forward */
function positionOf(run: Run, clusterId: string | undefined, held: readonly OffsetRange[]): ReplayPosition {
  const stored = run.store.read()
  const about = { ...run.about, ...(clusterId !== undefined && { clusterId }) }
  if (stored === undefined) return begin(run, about, held)
  const before = stored.about.clusterId
  if (isReplaced(before, clusterId)) {
    const { connection, topic } = about
    console.error(
      `connection ${connection} leads to another log than before: forwarding ${topic} from its beginning; the failures of the former log are removed`,
    )
    return begin(run, about, [])
  }
  if (before === undefined && clusterId !== undefined) run.store.describe(about)
  return stored.position
}

/** @param held partitions that begin at their ends; others begin at their beginnings */
function begin(run: Run, about: Forward, held: readonly OffsetRange[]): ReplayPosition {
  const next = new Map(held.map(({ partition, end }) => [partition, end]))
  const position = { next, replayed: 0, failed: 0 }
  run.store.begin(about, position)
  return position
}

const describeGap = (topic: string, { partition, first, next, kind }: OffsetGap): string =>
  kind === "deleted"
    ? `${topic}[${partition}]: the ${first - next} records from offset ${next} on were deleted before they were forwarded`
    : `${topic}[${partition}] ends before offset ${next}, where it was to continue: it is another log, forwarded from its beginning`

/** Prints a line for each event: time, type, place, and the target's answer; of tries in a row that fail alike, the first. */
function printer(typeOf: (record: StoredRecord) => string): Attempted {
  const paint = painter(isColoured(process.stdout.isTTY === true, process.env))
  let tried: { record: StoredRecord; reason: string } | undefined
  return (record, attempt, retryInMs) => {
    const { reason } = attempt
    if (retryInMs !== undefined && tried?.record === record && tried.reason === reason) return
    tried = { record, reason }
    const time = new Date().toTimeString().slice(0, 8)
    const place = `${record.topic}[${record.partition}]@${record.offset}`
    const [style, result] = describeAttempt(attempt, retryInMs !== undefined)
    console.log(
      `${paint("dim", time)} ${paint("bold", escapeLine(typeOf(record)))} ${escapeLine(place)} ${paint(style, escapeLine(result))}`,
    )
  }
}

function describeAttempt(attempt: Attempt, isRetried: boolean): [Style, string] {
  const duration = `in ${Math.round(attempt.durationMs)} ms`
  if (attempt.outcome === "delivered") return ["green", `${attempt.status} ${duration}`]
  const reason = `${attempt.reason} ${duration}`
  return isRetried ? ["yellow", `${reason}; retrying`] : ["red", `${reason}; refused`]
}

const nameOf = ({ connection, topic }: TopicPlace): string =>
  `${connection}-${topic}`.replace(/[^\w.-]/g, "-").slice(0, 100)
