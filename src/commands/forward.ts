import type { LogReader, StoredRecord } from "../brokers/broker.ts"
import { loadForCommand } from "../runtime/load-for-command.ts"
import { toFileName } from "../process/file-name.ts"
import type { TopicPlace } from "../config/declarations.ts"
import { HooklineError } from "../errors.ts"
import { Forward, type ForwardAbout } from "../replay/forward.ts"
import type { Attempt, OnAttempt } from "../replay/attempt.ts"
import { positionFile, type Positions } from "../replay/positions.ts"
import { urlTarget } from "../replay/post.ts"
import { toShownUrl } from "../outgoing/shown-url.ts"
import { Application } from "../runtime/application.ts"
import { escapeLine } from "../telemetry/escape-controls.ts"
import { isColoured, painter, type Style } from "../process/colours.ts"
import { placesIn, type NamedTopic } from "./connections-of.ts"
import { eventTypeIn } from "./event-type.ts"
import { leaveFolder } from "./folder.ts"
import { Interruption } from "./interruption.ts"
import { pipelinesIn, refuseOwnPipeline } from "./own-pipeline.ts"
import { say } from "./say.ts"
import { checkName, openPositions, stateFolder } from "./state-folder.ts"
import { WaitingNotes } from "./waiting.ts"

export interface ForwardFlags {
  readonly config?: string
  readonly name?: string
  readonly begin?: "beginning" | "end"
  readonly onRefusal: "stop" | "skip"
  readonly retries: number
  readonly concurrency: number
  readonly state?: string
}

/**
 * Posts each record of a topic to a URL, in order or in order within a key, until interrupted. It continues where an earlier
 * run of the same name stopped.
 *
 * @throws HooklineError `config`, `usage`, `no_input`, `log_locked` while another process forwards under that name, `log_io`,
 *   `refused` for a refused record where that is to stop it
 */
export async function forward(topic: NamedTopic, url: URL, flags: ForwardFlags): Promise<void> {
  const app = Application.fromFile(flags.config)
  const place = placesIn(app, [topic], flags)[0]!
  const name = checkName(flags.name ?? toFileName(`${place.connection}/${place.topic}`))
  if (loadForCommand(flags.config).forwards.has(name))
    throw new HooklineError(
      "usage",
      `${name} is [forward:${name}] of the configuration, which runs with the service`,
    )
  refuseOwnPipeline(url, place, pipelinesIn(flags.config), app.connectionIds())
  const location = positionFile(stateFolder(app, flags.state), "forward", name)
  const typeOf = eventTypeIn(flags.config, place.topic)
  leaveFolder()

  using interruption = new Interruption()
  using store = openPositions<ForwardAbout>(location)
  const before = store.read()?.about
  const from = flags.begin ?? before?.from ?? "end"
  const again = before?.from !== undefined && from !== before.from
  const about = { ...describe(store, place, url, name), from }
  if (again) say(`${name} begins again at the ${from}`)
  else if (before !== undefined && flags.begin !== undefined)
    say(
      `${name} continues where it stopped; to begin at the ${from}, run hookline forward remove ${name} first`,
    )
  const open = (): Promise<LogReader> => app.openReader(place.connection)
  const notes = new WaitingNotes()
  const forward = new Forward({
    about,
    store,
    open,
    target: urlTarget(url, {
      patience: { refusals: flags.retries + 1 },
      concurrency: flags.concurrency,
      stops: flags.onRefusal === "stop",
      attempted: printer(typeOf),
    }),
    onRefusal: flags.onRefusal,
    sinceMs: from === "beginning" ? 0 : undefined,
    again,
    signal: interruption.signal,
    waiting: (reason) => notes.note(reason),
    began: (text, leftOut = 0) => say(leftOut === 0 ? text : `${text}; --begin beginning posts them, too`),
    warn: say,
  })
  await forward.run()
  // what follows ends by an interrupt
  if (interruption.status !== undefined) process.exitCode = 0
}

/** What is forwarded, compared with what was under this name. @throws HooklineError `usage` for another topic */
function describe(
  store: Positions<ForwardAbout>,
  place: TopicPlace,
  { href: url }: URL,
  name: string,
): ForwardAbout {
  const before = store.read()?.about
  if (before === undefined) return { ...place, url }
  const { connection, topic } = before
  if (connection !== place.connection || topic !== place.topic)
    throw new HooklineError("usage", `${name} forwards ${connection}/${topic}; choose another --name`)
  const about = { ...before, url }
  if (before.url !== undefined && before.url !== url) {
    say(`${name} was posted to ${toShownUrl(before.url)} before; it continues from there`)
    store.describe(about)
  }
  return about
}

/** Prints a line for each event: time, type, place, and the target's answer; of tries in a row that fail alike, the first. */
function printer(typeOf: (record: StoredRecord) => string): OnAttempt {
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
