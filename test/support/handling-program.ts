import { SQL } from "bun"
import { Application, brokerSink, embeddedConnection, Pipeline, webHookSource } from "../../src/index.ts"

// Handles the topic t of an embedded log, each event's effect in a transaction with its position: DIRECTORY URL

const [directory, url] = process.argv.slice(2)
const sql = new SQL(url!)
if (url!.startsWith("sqlite:")) await sql`PRAGMA busy_timeout = 60000`
const app = new Application({ service: { logLevel: "warn" } })
app.registerConnection("log", embeddedConnection({ directory: directory! }))
app
  .addPipeline(
    new Pipeline("p", {
      source: webHookSource({ path: "/in" }),
      processors: [],
      sink: brokerSink({ topic: "u" }),
    }),
  )
  .handle(
    "log/t",
    (event, { commitPosition }) =>
      sql.begin(async (tx) => {
        await tx`INSERT INTO effects (n) VALUES (${event.json<{ n: number }>().n})`
        await commitPosition(tx)
      }),
    { concurrency: 16, begin: "beginning", position: "transaction", sql },
  )
await app.start({ listen: false })
