/**
 * Hookline as a library, with a processor of its own: events that only test the connection are left out.
 *
 * Run it with `bun examples/embed.ts [PORT] [DIRECTORY]`, post to `/webhook`, and end it with SIGTERM.
 */
import {
  Application,
  BrokerSink,
  Dropped,
  EmbeddedConnection,
  Enricher,
  Pipeline,
  Validator,
  WebHookSource,
  type Event,
} from "../src/index.ts"

const [port = "8080", directory = "hookline-data"] = process.argv.slice(2)

function leaveOutPings(event: Event): Event | Dropped {
  const { type } = JSON.parse(Buffer.from(event.body).toString()) as { type?: unknown }
  return type === "ping" ? new Dropped("ping") : event
}

const app = new Application()
app.registerConnection("log", EmbeddedConnection({ directory }))
app.addPipeline(
  new Pipeline("webhooks", {
    source: WebHookSource({ host: "127.0.0.1", port: Number(port), path: "/webhook" }),
    processors: [Validator(), leaveOutPings, Enricher()],
    sink: BrokerSink({ topic: "webhooks" }),
  }),
)
await app.start()
process.once("SIGTERM", () => void app.stop())
