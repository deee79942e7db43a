import { inSlices, nextTurn, type Steps } from "../clock/slices.ts"
import { keysBy } from "../config/options/reloading.ts"
import { SERVICE } from "../config/sections.ts"
import { HooklineError, namesOf } from "../errors.ts"
import { stampNow } from "../process/file-watcher.ts"
import { answering } from "../process/regular-file.ts"
import type { Logger } from "../telemetry/log.ts"
import { describeChanges, type Changes } from "./configuration-diff.ts"
import type { Plan } from "./plan/plan.ts"
import { unsharedIn } from "./plan/replica-checks.ts"
import type { Explain, Listening, ReloadableApplication } from "./running-application.ts"

/** @internal Reloads, logs and counts the result. Throws what the reload throws. */
export async function logReload(
  application: ReloadableApplication,
  reload: () => Promise<Changes>,
  explain: Explain,
): Promise<Changes> {
  const { log, metrics, listening: before, plan: planBefore } = application
  const startedMs = performance.now()
  let changes: Changes
  try {
    changes = await reload()
  } catch (cause) {
    if (cause instanceof HooklineError && cause.code === "closing") throw cause
    const error = await explain(cause)
    metrics.configuration.failed(reasonOf(error))
    logProblems(log, error)
    log.error("reload failed; configuration unchanged")
    throw error
  }
  metrics.configuration.reloaded()
  await nextTurn()
  await inSlices(logListening(log, before, application.listening))
  for (const key of keysBy("restart", SERVICE) as (keyof Plan["service"])[]) {
    if (changes.service.includes(key))
      log.warn({ [key]: application.plan.service[key] }, `[service] ${key} takes effect with a restart`)
  }
  logUnshared(application, planBefore)
  const durationMs = Math.round(performance.now() - startedMs)
  const changed = describeChanges(changes)
  log.info({ ...changed, duration_ms: durationMs }, "reloaded")
  const variables = [...(application.plan.draft.configuration?.variables ?? [])]
  if (Object.keys(changed).length === 0 && variables.length > 0)
    log.info(
      { variables },
      "nothing has changed: a reload keeps the environment that the process was started with; restart it for changed variables, or refer to files with ${file:/path}",
    )
  return changes
}

/** @internal Logs what replicas do not share. @param before a plan of which that was logged */
export function logUnshared({ log, plan }: Pick<ReloadableApplication, "log" | "plan">, before?: Plan): void {
  const known = new Set(before && unsharedIn(before).map(String))
  for (const [pipeline, text] of unsharedIn(plan))
    if (!known.has(String([pipeline, text]))) log.warn({ pipeline }, text)
}

/** @internal Logs the modules of `--components` that have changed since they were loaded, by absolute path. */
export function* logChangedModules(
  modules: ReadonlyMap<string, string>,
  reads: (file: string) => void,
  log: Logger,
): Steps<void> {
  yield* answering(modules.keys())
  for (const [module, stamp] of modules) {
    reads(module)
    if (stampNow(module) !== stamp)
      log.warn({ module }, "a module of --components has changed: it takes effect with a restart")
  }
}

/** @internal Logs the addresses that are new. */
export function* logListening(
  log: Logger,
  before: readonly Listening[],
  now: readonly Listening[],
): Steps<void> {
  const known = new Map(before.map(({ pipeline, url }) => [pipeline, url]))
  for (const it of now) {
    if (known.get(it.pipeline) === it.url) continue
    log.info(it, "listening")
    yield
  }
}

/** The first problem, and how many more there are. */
function reasonOf(error: unknown): string {
  if (!(error instanceof HooklineError)) return "a fault in Hookline, which the log has"
  const [first = "", ...others] = error.message.split("\n")
  return others.length === 0 ? first : `${first} (and ${others.length} more)`
}

function logProblems(log: Logger, error: unknown): void {
  if (error instanceof HooklineError)
    for (const [i, problem] of error.message.split("\n").entries())
      log.error({ error: namesOf(error)[i] }, problem)
  else log.error({ err: error }, "unhandled error in a reload")
}
