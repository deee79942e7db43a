import { describeChanges, type Changes } from "./changes.ts"
import { HooklineError } from "./errors.ts"
import type { Plan } from "./plan.ts"
import { inSlices, type Steps } from "./slices.ts"
import type { Logger } from "./telemetry/log.ts"
import type { Metrics } from "./telemetry/metrics.ts"

/** Where a pipeline takes webhooks in. */
export interface Listening {
  readonly pipeline: string
  /** With the port that is bound and the path: `http://127.0.0.1:8080/webhook`. */
  readonly url: string
}

/** What runs a plan and can change to another one. */
export interface Reloadable {
  readonly log: Logger
  readonly metrics: Metrics
  readonly plan: Plan
  readonly listening: readonly Listening[]
  /**
   * @param read gives the plan
   * @throws HooklineError what is wrong with the plan or can't be opened, nothing is changed then; `closing`
   */
  change(read: () => Steps<Plan>): Promise<Changes>
}

/** Keys of `[service]` that only a start takes. */
const FIXED = ["log_format", "workers"] as const

/** Changes to another plan, and tells the log and the metrics what became of it. Throws what `change` throws. */
export async function reload(runner: Reloadable, read: () => Steps<Plan>): Promise<Changes> {
  const { log, metrics } = runner
  const startedMs = performance.now()
  const { listening } = runner
  let changes: Changes
  try {
    changes = await runner.change(read)
  } catch (error) {
    if (error instanceof HooklineError && error.code === "closing") throw error
    metrics.configuration.failed()
    tellProblems(log, error)
    log.error("not reloaded: nothing has changed")
    throw error
  }
  metrics.configuration.took()
  await inSlices(tellListening(log, listening, runner.listening))
  for (const key of FIXED) {
    if (changes.service.includes(key))
      log.warn({ [key]: runner.plan.service[key] }, `[service] ${key} takes effect with a restart`)
  }
  const durationMs = Math.round(performance.now() - startedMs)
  log.info({ ...describeChanges(changes), duration_ms: durationMs }, "reloaded")
  return changes
}

/** Tells where pipelines listen now and did not before. */
export function* tellListening(
  log: Logger,
  before: readonly Listening[],
  now: readonly Listening[],
): Steps<void> {
  const known = new Set(before.map(keyOf))
  for (const it of now) {
    if (known.has(keyOf(it))) continue
    log.info(it, "listening")
    yield
  }
}

const keyOf = ({ pipeline, url }: Listening): string => JSON.stringify([pipeline, url])

function tellProblems(log: Logger, error: unknown): void {
  if (error instanceof HooklineError) for (const problem of error.message.split("\n")) log.error(problem)
  else log.error({ err: error }, "a fault in the reload")
}
