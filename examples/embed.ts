/**
 * Hookline as a library, with a processor of its own: events that only test the connection are left out.
 *
 * Run it with `bun examples/embed.ts [PORT] [DIRECTORY]`, post to `/webhook`, and end it with SIGTERM.
 */
import {
  Application,
  brokerSink,
  Dropped,
  embeddedConnection,
  enricher,
  Pipeline,
  validator,
  webHookSource,
  type Processor,
} from "hookline"

const [port = "8080", directory = "hookline-data"] = process.argv.slice(2)

const leaveOutPings: Processor = (event) =>
  event.json<{ type?: unknown }>().type === "ping" ? new Dropped("ping") : event

const app = new Application()
app.registerConnection("log", embeddedConnection({ directory }))
app.addPipeline(
  new Pipeline("webhooks", {
    source: webHookSource({ host: "127.0.0.1", port: Number(port), path: "/webhook" }),
    processors: [validator(), leaveOutPings, enricher()],
    sink: brokerSink({ topic: "webhooks" }),
  }),
)
await app.start()
process.once("SIGTERM", () => void app.stop())
