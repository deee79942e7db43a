import { Application } from "../application.ts"
import { Verifier } from "../components/verifier.ts"
import type { PlannedPipeline } from "../plan.ts"

/** Runs what a configuration file names until a signal ends it. */
export async function run(file: string | undefined): Promise<void> {
  const app = Application.fromFile(file)
  const { log, listening } = await app.start()
  const open = new Set(app.plan().pipelines.flatMap((it) => (isOpen(it) ? it.id : [])))
  const first = listening.find(({ pipeline }) => open.has(pipeline))
  if (first !== undefined) {
    log.info(
      `try it: curl -i -d '{"type":"ping","id":42}' ${first.url.replace("//0.0.0.0:", "//localhost:")}`,
    )
  }
  log.info("started")

  let stopping = false
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (stopping) {
      log.warn({ signal }, "second signal: leaving at once")
      process.exit(128 + { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }[signal as string]!)
    }
    stopping = true
    log.info({ signal }, "signal received")
    try {
      await app.stop()
    } catch (error) {
      log.fatal({ err: error }, "the stop failed")
      process.exit(70)
    }
    process.exit(0)
  }
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, (it) => void stop(it))
}

/** Whether a request that nobody signed is published. */
const isOpen = ({ source, processors }: PlannedPipeline): boolean =>
  source.values.tls_client_ca === undefined &&
  !processors.some(
    (it) =>
      typeof it !== "function" &&
      it.component.title === Verifier.title &&
      (it.values as { mode: string }).mode === "enforce",
  )
