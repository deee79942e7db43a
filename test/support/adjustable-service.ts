/*
 * `hookline run` that takes commands on standard input, one a line: `reload`, `flush`, or a log level to set. Each is
 * answered on standard output, behind all that was logged before.
 */
import { createInterface } from "node:readline"
import { Application } from "../../src/runtime/application.ts"
import { Runtime } from "../../src/runtime/runtime.ts"
import { Supervisor } from "../../src/runtime/workers/supervisor.ts"
import type { LogLevel } from "../../src/telemetry/log.ts"

const app = Application.fromFile(process.argv[2])
const running = await app.startBy((plan) =>
  plan.service.workers > 1 ? Supervisor.start(plan) : Runtime.start(plan),
)
console.log(JSON.stringify({ msg: "started" }))
for await (const line of createInterface(process.stdin)) {
  if (line === "reload") await app.reload()
  else if (line !== "flush") await running.setLogLevel(line as LogLevel)
  console.log(JSON.stringify({ msg: `done: ${line}` }))
}
await app.stop()
