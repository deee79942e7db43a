import type { LogReader, StoredRecord } from "../brokers/broker.ts"
import { isOther } from "../brokers/log-place.ts"
import { HooklineError } from "../errors.ts"
import type { ForwardAbout } from "../replay/forward.ts"
import { urlTarget } from "../replay/post.ts"
import type { KeptFailure } from "../replay/position-tables.ts"
import { namesIn, positionFile, Positions } from "../replay/positions.ts"
import { parseTargetUrl, toShownTarget } from "../replay/request-of-record.ts"
import { loadForCommand } from "../runtime/load-for-command.ts"
import { parseTopicPlace } from "../config/declarations.ts"
import { exists } from "../process/paths.ts"
import { forwardLocation, postOptionsOf, sectionGroup, setForwardPaused } from "../runtime/forward-specs.ts"
import { placeOfForward, planForward } from "../runtime/plan/plan-part.ts"
import { Application } from "../runtime/application.ts"
import type { DatabaseLocation } from "../storage/database-file.ts"
import { checkUnlocked } from "../storage/writer-lock.ts"
import { escapeControls, escapeLine } from "../telemetry/escape-controls.ts"
import type { OffsetFlag } from "./flag-values.ts"
import { Interruption } from "./interruption.ts"
import { checkName, connectionNamed, openPositions, stateFolder } from "./state-folder.ts"
import { printTable } from "./table.ts"
import type { StateFlags } from "./common-flags.ts"
import { WaitingNotes } from "./waiting.ts"
import { counted } from "../words.ts"

/** Prints the forwards, as a table or a JSON array, and what is wrong with others on standard error. @throws HooklineError `no_input` */
export function listForwards(flags: StateFlags): void {
  const files = configured(flags)
  const names = new Set([...namesIn(files.folder, "forward"), ...files.configuration.forwards.keys()])
  const all = [...names].flatMap((name) => {
    try {
      const { location } = locateIn(files, name)
      return exists(location.file) ? describeForward(name, location) : []
    } catch (error) {
      if (!(error instanceof HooklineError)) throw error
      console.error(error.message)
      process.exitCode = error.exitCode
      return []
    }
  })
  if (flags.json === true) return console.log(escapeControls(JSON.stringify(all, null, 2)))
  const rows = all.map(({ name, connection, topic, url, forwarded, failures, ...state }) => [
    name,
    `${connection}/${topic}`,
    url,
    `${forwarded}`,
    `${failures}`,
    describeState(state),
  ])
  printTable([["NAME", "TOPIC", "URL", "FORWARDED", "FAILURES", "STATE"], ...rows], [0, 1, 2, 5])
}

function describeForward(name: string, location: DatabaseLocation) {
  using reader = Positions.open<ForwardAbout>(location)
  const stored = reader.read()
  if (stored === undefined) return []
  const { connection, topic, url } = stored.about
  const { next, replayed } = stored.position
  const running = isRunning(location)
  const waiting = running ? reader.waiting() : undefined
  return {
    name,
    connection,
    topic,
    url: toShownTarget(url),
    forwarded: replayed,
    failures: reader.countFailures(),
    offsets: Object.fromEntries(next),
    running,
    paused: reader.isPaused(),
    retrying_since: waiting === undefined ? null : toTime(waiting.sinceMs),
    last_error: waiting?.reason ?? null,
  }
}

const describeState = (state: {
  readonly running: boolean
  readonly paused: boolean
  readonly retrying_since: string | null
  readonly last_error: string | null
}): string => {
  if (!state.running) return state.paused ? "stopped, paused" : "stopped"
  if (state.paused) return "paused"
  return state.last_error === null
    ? "running"
    : escapeLine(`retrying since ${state.retrying_since}: ${state.last_error}`)
}

/** Prints the records that the target refused, oldest first. @throws HooklineError `no_input`, `usage`, `log_io` */
export function printFailures(name: string, flags: StateFlags): void {
  const { location } = locate(name, flags)
  using positions = Positions.open<ForwardAbout>(location)
  const failures = positions.failures().map(({ partition, offset, timestampMs, atMs, reason }) => {
    return { partition, offset, timestamp: toTime(timestampMs), refused_at: toTime(atMs), reason }
  })
  if (flags.json === true) {
    for (const failure of failures) console.log(escapeControls(JSON.stringify(failure)))
    return
  }
  const rows = failures.map(({ partition, offset, timestamp, refused_at, reason }) => [
    `${partition}`,
    `${offset}`,
    timestamp ?? "-",
    refused_at ?? "-",
    reason,
  ])
  printTable([["PARTITION", "OFFSET", "TIME", "REFUSED AT", "REASON"], ...rows], [2, 3, 4])
}

/**
 * Posts the refused records again, as the section of the file would now. Those that the target accepts are no longer failures,
 * nor are those that the log has deleted.
 *
 * @throws HooklineError `config`, `no_input`, `usage`, `no_topic`, `unavailable`, `log_io`
 */
export async function retryFailures(name: string, flags: StateFlags): Promise<void> {
  const { app, configuration, location, isSection } = locate(name, flags)
  const section = isSection ? planForward(configuration, name).values : undefined
  using positions = Positions.open<ForwardAbout>(location)
  const stored = positions.read()
  // it waits for its log for the first time
  if (stored === undefined) return
  const { connection, topic, url, clusterId, topicId } = stored.about
  if (url === undefined)
    throw new HooklineError(
      "usage",
      `${name} is delivered to a handler; only the program that registers it can retry`,
    )
  connectionNamed(app, connection)
  const reader = await app.openReader(connection)
  using interruption = new Interruption()
  const notes = new WaitingNotes()
  const { signal } = interruption
  let status: number | undefined
  const target = urlTarget(parseTargetUrl(section?.url ?? url), {
    ...(section && postOptionsOf(section)),
    attempted: (_, { outcome, reason, ...attempt }) => {
      status = attempt.status
      notes.note(outcome === "unavailable" ? reason : undefined)
    },
  })
  signal.addEventListener("abort", () => target.stop(), { once: true })
  let isLeft = false
  try {
    if (isOther(clusterId, await reader.clusterId()))
      throw new HooklineError(
        "usage",
        `connection ${connection} leads to another log than the one with the refused records of ${name}; hookline forward remove ${name} removes them`,
      )
    if (isOther(topicId, await reader.topicId?.(topic)))
      throw new HooklineError(
        "usage",
        `topic ${topic} was created again: it no longer has the refused records of ${name}; hookline forward drop ${name} --all removes them from the list`,
      )
    for (const failure of positions.failures()) {
      if (signal.aborted) break
      const place = `${topic}[${failure.partition}]@${failure.offset}`
      const record = await find(reader, topic, failure, signal)
      if (signal.aborted) break
      if (record === undefined) {
        isLeft = true
        positions.settle(failure, undefined)
        console.log(escapeLine(`${place} is no longer in the log, and was removed from the list`))
        continue
      }
      const sent = await target.send(record)
      if (sent === "stopped") break
      const reason = sent === "delivered" ? undefined : sent.reason
      if (reason !== undefined) isLeft = true
      positions.settle(failure, reason)
      if (reason !== undefined) target.parked?.()
      console.log(escapeLine(`${place} ${reason ?? status}`))
    }
  } finally {
    await reader.close()
  }
  process.exitCode = interruption.status ?? (isLeft ? 1 : 0)
}

/**
 * Removes refused records from the list; the log keeps them.
 *
 * @param flags `offset`: which; without them `all` has to be set
 * @throws HooklineError `no_input`, `usage`, `log_io`
 */
export function dropFailures(
  name: string,
  { offset: chosen = [], all, ...flags }: StateFlags & { offset?: readonly OffsetFlag[]; all?: true },
): void {
  if ((chosen.length === 0) !== (all === true))
    throw new HooklineError("usage", "name the records by --offset, or drop all that are listed with --all")
  using positions = Positions.open<ForwardAbout>(locate(name, flags).location)
  const listed = positions.failures()
  const dropped = chosen.flatMap(({ partition, offset }) => {
    const found = listed.filter((it) => it.offset === offset && it.partition === (partition ?? it.partition))
    if (found.length > 0) return found
    const place = partition === undefined ? `${offset}` : `${partition}:${offset}`
    throw new HooklineError(
      "no_input",
      `no refused record has the offset ${place}; see hookline forward failures ${name}`,
    )
  })
  const failures = new Set(all === true ? listed : dropped)
  for (const failure of failures) positions.settle(failure, undefined)
  console.log(`${counted(failures.size, "record")} removed from the list`)
}

/** @throws HooklineError `no_input`, `usage`, `unavailable`, `log_io` */
export async function pauseForward(name: string, isPaused: boolean, flags: StateFlags): Promise<void> {
  const { app, configuration, location } = locate(name, flags)
  if (configuration.forwards.has(name)) {
    const { connection, topic } = parseTopicPlace(placeOfForward(configuration, name).from)
    const forward = { group: sectionGroup(name), topic, location }
    await setForwardPaused(connectionNamed(app, connection), forward, isPaused)
  } else {
    using positions = Positions.open(location)
    positions.setPaused(isPaused)
  }
  console.log(`${name} ${isPaused ? "paused" : "resumed"}`)
}

/** @throws HooklineError `no_input`, `usage`, `log_locked` while it runs, `log_io` */
export function removeForward(name: string, flags: StateFlags): void {
  const { location } = locate(name, flags)
  Positions.open(location)[Symbol.dispose]()
  openPositions(location).remove()
  console.log(`${name} removed`)
}

const locate = (name: string, flags: StateFlags) => {
  const files = configured(flags)
  return { ...files, ...locateIn(files, name) }
}

function configured(flags: StateFlags) {
  const app = Application.fromFile(flags.config)
  return { app, configuration: loadForCommand(flags.config), folder: stateFolder(app, flags.state) }
}

/** The file of a section that has begun, or else of a `hookline forward` of that name. @throws HooklineError `config`, `usage` */
function locateIn({ app, configuration, folder }: ReturnType<typeof configured>, name: string) {
  if (configuration.forwards.has(name)) {
    const values = placeOfForward(configuration, name)
    const { connection } = parseTopicPlace(values.from)
    if (!app.connectionIds().includes(connection))
      throw new HooklineError("config", `[forward:${name}] from: unknown connection ${connection}`)
    const location = forwardLocation({ id: name, values }, app.connection(connection), configuration.baseDir)
    if (exists(location.file)) return { location, isSection: true }
  }
  return { location: positionFile(folder, "forward", checkName(name)), isSection: false }
}

async function find(
  reader: LogReader,
  topic: string,
  { partition, offset }: KeptFailure,
  signal: AbortSignal,
): Promise<StoredRecord | undefined> {
  const range = { partition, first: offset, end: offset + 1 }
  for await (const record of reader.read(topic, [range], { retries: true, signal }))
    if (record.offset === offset) return record
  return undefined
}

function isRunning(location: DatabaseLocation): boolean {
  try {
    checkUnlocked(location)
    return false
  } catch (error) {
    if (error instanceof HooklineError && error.code === "log_locked") return true
    throw error
  }
}

const toTime = (ms: number): string | null => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : null)
