import type { SingleBar } from "cli-progress"
import type { ReplayJob } from "../replay/job.ts"
import { escapeControls } from "../telemetry/escape-controls.ts"
import { startProgressBar } from "./progress-bar.ts"
import type { WaitingNotes } from "./waiting.ts"

const FORMAT = "{bar} {percentage}% | {value} of {total} | {rate}/s | {left}"
const UPDATE_MS = 250

/** What a replay shows: its progress on a terminal, what it waits for, and a summary at the end. */
export class ReplayDisplay implements Disposable {
  readonly #name: string
  readonly #job: ReplayJob
  readonly #notes: WaitingNotes
  readonly #asJson: boolean
  readonly #before: number
  readonly #startedMs = performance.now()
  readonly #timer: Timer
  #bar: SingleBar | undefined
  #problem: string | undefined

  constructor(name: string, job: ReplayJob, notes: WaitingNotes, asJson: boolean) {
    this.#name = name
    this.#job = job
    this.#notes = notes
    this.#asJson = asJson
    this.#before = job.progress().replayed
    this.#timer = setInterval(() => this.#update(), UPDATE_MS)
  }

  resumed(): void {
    const { passed, offsets } = this.#job.progress()
    console.error(`resuming ${this.#name} at ${passed} of ${offsets}; --restart starts over`)
  }

  /** Prints the summary. */
  end(): void {
    this.#bar?.update(this.#job.progress().passed, { left: "" })
    this[Symbol.dispose]()
    const { state, offsets, passed, replayed, failed, missed, failures, problem } = this.#job.progress()
    const seconds = (performance.now() - this.#startedMs) / 1000
    const perSecond = Math.round((replayed - this.#before) / seconds)
    if (this.#asJson) {
      const counts = { offsets, passed, replayed, failed, missed }
      const refused = failures.map(({ partition, offset, reason }) => ({ partition, offset, reason }))
      const result = { name: this.#name, state, ...counts, seconds, per_second: perSecond, failures: refused }
      return console.log(escapeControls(JSON.stringify({ ...result, error: problem })))
    }
    for (const { partition, offset, reason } of failures)
      console.error(escapeControls(`refused: partition ${partition}, offset ${offset}: ${reason}`))
    const refused = failed === 0 ? "" : `, ${failed} refused`
    const deleted = missed === 0 ? "" : `, ${missed} offsets no longer in the log`
    const all = `${replayed} records replayed${refused}${deleted}`
    if (state === "done") console.log(`${all}, in ${seconds.toFixed(1)} s (${perSecond}/s)`)
    else
      console.error(
        `stopped at ${passed} of ${offsets}, ${all}; run the same command to resume (${this.#name})`,
      )
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#bar?.stop()
    this.#bar = undefined
  }

  #update(): void {
    const { state, passed, offsets, perSecond, remainingMs, problem } = this.#job.progress()
    if (state !== "running") return
    if (problem !== this.#problem) {
      // a line of its own, above the bar
      this.#bar?.stop()
      this.#bar = undefined
      this.#notes.note(problem)
      this.#problem = problem
    }
    this.#bar ??= startProgressBar(offsets, { format: FORMAT, payload: { rate: "-", left: "" } })
    const left = remainingMs === undefined ? "" : `${toSpan(remainingMs)} left`
    this.#bar?.update(passed, { rate: Math.round(perSecond), left })
  }
}

/** `45 s`, `3 min 20 s`, `2 h 5 min` */
function toSpan(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60
    ? `${minutes} min ${seconds % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
