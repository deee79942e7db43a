import { withoutHidden } from "../process/hidden-segments.ts"
import { readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { isatty } from "node:tty"
import manifest from "../../package.json" with { type: "json" }
import { Application } from "../runtime/application.ts"
import { HooklineError } from "../errors.ts"
import type { Plan } from "../runtime/plan/plan.ts"
import { verifiedFrom } from "../runtime/plan/verified.ts"
import { Runtime } from "../runtime/runtime.ts"
import { exitOnUnhandled } from "../runtime/unhandled.ts"
import { watchFiles } from "../process/file-watcher.ts"
import type { Logger } from "../telemetry/log.ts"
import type { ConfigFlags } from "./common-flags.ts"
import { leaveFolder } from "./folder.ts"
import { Interruption, releaseHangups } from "./interruption.ts"
import { loadComponents, type ComponentFlags } from "./own-components.ts"

/**
 * Runs the pipelines of a configuration file until a signal; SIGHUP reloads it.
 *
 * @param flags `watch`: whether to reload when the file, or one that it references, changes
 */
export async function run(flags: ConfigFlags & ComponentFlags & { watch?: true }): Promise<void> {
  const terminal = ownTerminal()
  const app = await Application.load(flags.config, await loadComponents(flags))
  leaveFolder()
  let opened: Logger | undefined
  exitOnUnhandled(() => opened)
  const { log, listening, plan } = await app.startBy((plan) => Runtime.start(plan))
  opened = log
  const open = new Set(plan.pipelines.flatMap((it) => (verifiedFrom(it) === undefined ? it.id : [])))
  const first = listening.find(({ pipeline }) => open.has(pipeline))
  if (first !== undefined) {
    log.info(
      `try it: curl -i -d '{"type":"ping","id":42}' ${withoutHidden(first.url.replace("//0.0.0.0:", "//localhost:"))}`,
    )
  }

  const interruption = new Interruption((signal) => log.warn({ signal }, "second signal: exiting at once"))
  const stop = async (): Promise<void> => {
    log.info({ signal: interruption.name }, "signal received")
    try {
      await app.stop()
    } catch (error) {
      log.fatal({ err: error }, "stopping failed")
      process.exit(70)
    }
    process.exit(0)
  }
  const reload = async (why: object): Promise<void> => {
    if (interruption.signal.aborted) return
    log.info(why, "reloading")
    try {
      await app.reload()
    } catch (error) {
      // configuration errors are logged by the reload
      if (!(error instanceof HooklineError)) log.error({ err: error }, "unhandled error in the reload")
    }
  }
  const hungUp = (): void => {
    if (interruption.signal.aborted) return
    // a closed terminal stops what was started in it
    if (terminal !== undefined && !isatty(terminal)) interruption.interrupt("SIGHUP")
    else void reload({ signal: "SIGHUP" })
  }
  interruption.signal.addEventListener("abort", () => void stop())
  if (flags.watch)
    void watchFiles(
      () => app.inputs,
      () => reload({ watch: true }),
      interruption.signal,
    )
  process.on("SIGHUP", hungUp)
  if (releaseHangups()) hungUp()
  // what loading the modules has left behind, on Kafka 10 MB; of thousands of pipelines, what planning them has, without a pause
  if (plan.pipelines.length < 1000) Bun.shrink()
  else Bun.gc(false)
  // not `pid`, which a log for people leaves out
  log.info({ version: manifest.version, process_id: process.pid, ...describePlan(plan) }, "started")
}

/** The configuration file, and where each connection leads. */
function describePlan({ draft: { configuration }, baseDir, connections }: Plan): object {
  const described = [...connections].map(([id, { kind, values }]) => [id, kind.describe(values).place])
  return {
    configuration: configuration && join(baseDir, basename(configuration.file)),
    connections: Object.fromEntries(described) as object,
  }
}

const [STDIN, STDOUT, STDERR] = [0, 1, 2]

/**
 * The descriptor of the terminal that this process ends with; undefined: it is a daemon. The log may go to a file or a pipe,
 * unless in the background: what was started with `&` and left by its shell runs on.
 */
function ownTerminal(): number | undefined {
  if (isatty(STDOUT)) return STDOUT
  return isInForeground() ? [STDIN, STDERR].find((it) => isatty(it)) : undefined
}

/** Whether keys of the terminal go to this process; false where that is unknown (not Linux). */
function isInForeground(): boolean {
  try {
    // proc_pid_stat(5), after the command: state, parent, group, session, terminal, its foreground group
    const [, , group, , , foreground] = readFileSync("/proc/self/stat", "latin1")
      .split(") ")
      .at(-1)!
      .split(" ")
    return group === foreground
  } catch {
    return false
  }
}
