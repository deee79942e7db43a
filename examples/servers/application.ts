/** What the servers of this folder mount: `/webhook`, for senders on this machine. */
import {
  Application,
  brokerSink,
  embeddedConnection,
  enricher,
  Pipeline,
  validator,
  webHookSource,
} from "hookline"

export const [port = "3000", directory = "hookline-data"] = process.argv.slice(2)

export const app = new Application()
const log = app.registerConnection("log", embeddedConnection({ directory }))
app.addPipeline(
  new Pipeline("webhooks", {
    source: webHookSource({ path: "/webhook", allow: ["127.0.0.1"] }),
    processors: [validator(), enricher()],
    sink: brokerSink({ topic: "webhooks", connection: log }),
  }),
)
await app.start({ listen: false })
process.once("SIGTERM", () => void app.stop().then(() => process.exit(0)))
