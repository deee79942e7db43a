import type { ReplayJob } from "../replay/job.ts"
import type { ReplayFailure, ReplayProgress } from "../replay/progress.ts"
import { escapeControls } from "../telemetry/escape-controls.ts"
import { type ProgressBar, startProgressBar, toSpan } from "./progress-bar.ts"
import type { WaitingNotes } from "./waiting.ts"
import { counted } from "../words.ts"
import { say } from "./say.ts"

const UPDATE_MS = 250

/** Shows a replay: its progress on a terminal, what it waits for, and a summary at the end. */
export function displayReplay(name: string, job: ReplayJob, notes: WaitingNotes, asJson: boolean) {
  const before = job.progress().replayed
  const startedMs = performance.now()
  let bar: ProgressBar | undefined
  let pace = ""
  let left = ""
  let shownProblem: string | undefined

  const update = (): void => {
    const { state, passed, offsets, perSecond, remainingMs, problem } = job.progress()
    if (state !== "running") return
    if (problem !== shownProblem) {
      // a line of its own, above the bar
      bar?.stop()
      bar = undefined
      notes.note(problem)
      shownProblem = problem
    }
    pace = `${Math.round(perSecond)}/s`
    left = remainingMs === undefined ? "" : `${toSpan(remainingMs)} left`
    bar ??= startProgressBar(offsets, (value) => `${value} of ${offsets} | ${pace} | ${left}`)
    bar?.update(passed)
  }
  const timer = setInterval(update, UPDATE_MS)
  const dispose = (): void => {
    clearInterval(timer)
    bar?.stop()
    bar = undefined
  }
  return {
    [Symbol.dispose]: dispose,
    resumed(): void {
      const { passed, offsets } = job.progress()
      say(`resuming ${name} at ${passed} of ${offsets}; --restart starts over`)
    },
    /** Prints the summary. */
    end(): void {
      left = ""
      bar?.update(job.progress().passed)
      dispose()
      const { state, offsets, passed, replayed, failed, missed, failures, problem } = job.progress()
      const seconds = (performance.now() - startedMs) / 1000
      const perSecond = Math.round((replayed - before) / seconds)
      if (asJson) {
        const counts = { offsets, passed, replayed, failed, missed }
        const refused = failures.map(({ partition, offset, reason }) => ({ partition, offset, reason }))
        const result = { name, state, ...counts, seconds, per_second: perSecond, failures: refused }
        return console.log(escapeControls(JSON.stringify({ ...result, error: problem })))
      }
      printRefused(failures)
      const all = describeReplayed({ replayed, failed, missed })
      if (state === "done") console.log(`${all}, in ${seconds.toFixed(1)} s (${perSecond}/s)`)
      else
        console.error(`stopped at ${passed} of ${offsets}, ${all}; run the same command to resume (${name})`)
    },
  }
}

type Counts = Pick<ReplayProgress, "replayed" | "failed" | "missed">

export function describeReplayed({ replayed, failed, missed }: Counts): string {
  const refused = failed === 0 ? "" : `, ${failed} refused`
  const deleted = missed === 0 ? "" : `, ${counted(missed, "offset")} no longer in the log`
  return `${counted(replayed, "record")} replayed${refused}${deleted}`
}

export function printRefused(
  failures: readonly Pick<ReplayFailure, "partition" | "offset" | "reason">[],
): void {
  for (const { partition, offset, reason } of failures)
    console.error(escapeControls(`refused: partition ${partition}, offset ${offset}: ${reason}`))
}
