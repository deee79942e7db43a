import { Application } from "../application.ts"

/** Runs what a configuration file names until a signal ends it. */
export async function run(file: string | undefined): Promise<void> {
  const app = Application.fromFile(file)
  const { log, listening } = await app.start()
  const [first] = listening
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
