import { Application } from "../application.ts"

/** Says whether a configuration file is right, and if it is, what it would run. Nothing is opened. */
export function check(file: string | undefined): void {
  const plan = Application.fromFile(file).plan()
  for (const { id, source, sink } of plan.pipelines) {
    const { host, port, path } = source.values as { host: string; port: number; path: string }
    const { topic } = sink.values as { topic: string }
    console.log(`${id}: ${host}:${port}${path} -> topic ${topic}`)
  }
  console.log("The configuration is right.")
}
