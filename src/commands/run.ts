import { isatty } from "node:tty"
import { Application } from "../application.ts"
import { Verifier } from "../components/verifier.ts"
import { HooklineError } from "../errors.ts"
import type { Plan, PlannedPipeline } from "../plan.ts"
import { PlanRunner, type Runner } from "../running.ts"
import { watchFiles } from "../watch.ts"
import { leaveFolder } from "./folder.ts"

/**
 * Runs what a configuration file names until a signal ends it; SIGHUP reads it again.
 *
 * @param watches whether it is read again too when it changes, or a file that it names
 */
export async function run(file: string | undefined, { watches }: { watches: boolean }): Promise<void> {
  const hadTerminal = isatty(STDOUT)
  const app = Application.fromFile(file)
  leaveFolder()
  const { log, listening } = await app.start(startRunner)
  const open = new Set(app.plan().pipelines.flatMap((it) => (isOpen(it) ? it.id : [])))
  const first = listening.find(({ pipeline }) => open.has(pipeline))
  if (first !== undefined) {
    log.info(
      `try it: curl -i -d '{"type":"ping","id":42}' ${first.url.replace("//0.0.0.0:", "//localhost:")}`,
    )
  }

  let stopping = false
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (stopping) {
      log.warn({ signal }, "second signal: leaving at once")
      process.exit(128 + { SIGINT: 2, SIGTERM: 15 }[signal as string]!)
    }
    stopping = true
    endWatch?.()
    log.info({ signal }, "signal received")
    try {
      await app.stop()
    } catch (error) {
      log.fatal({ err: error }, "the stop failed")
      process.exit(70)
    }
    process.exit(0)
  }
  const reload = async (why: object): Promise<void> => {
    if (stopping) return
    log.info(why, "reloading")
    try {
      await app.reload()
    } catch (error) {
      // what was wrong is in the log
      if (!(error instanceof HooklineError)) log.error({ err: error }, "a fault in the reload")
    }
  }
  const hungUp = (): void => {
    if (stopping) return
    // whoever closes the terminal that it runs in does not expect it to go on
    if (hadTerminal && !isatty(STDOUT)) void stop("SIGHUP")
    else void reload({ signal: "SIGHUP" })
  }
  const endWatch = watches
    ? watchFiles(
        () => app.inputs,
        () => reload({ watch: true }),
      )
    : undefined
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, (it) => void stop(it))
  process.on("SIGHUP", hungUp)
  log.info("started")
}

async function startRunner(plan: Plan): Promise<Runner> {
  if (plan.service.workers === 1) return PlanRunner.start(plan)
  const { Supervisor } = await import("../workers/supervisor.ts")
  return Supervisor.start(plan)
}

const STDOUT = 1

/** Whether a request that nobody signed is published. */
const isOpen = ({ source, processors }: PlannedPipeline): boolean =>
  source.values.tls_client_ca === undefined &&
  !processors.some(
    (it) =>
      typeof it !== "function" &&
      it.component.title === Verifier.title &&
      (it.values as { mode: string }).mode === "enforce",
  )
