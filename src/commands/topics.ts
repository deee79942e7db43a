import type { TopicInfo } from "../brokers/broker.ts"
import { HooklineError } from "../errors.ts"
import { Application } from "../runtime/application.ts"
import { connectionsOf } from "./connections-of.ts"
import type { LogFlags } from "./log-choice.ts"
import { printTable } from "./table.ts"

/** A topic of a connection's log. */
type ListedTopic = { readonly connection: string } & TopicInfo

/**
 * Prints the topics of the logs of all connections, or of one, as a table or a JSON array. Of several logs, one that does not
 * exist yet has none, and one that can't be read is an error once the others are printed.
 *
 * @throws HooklineError `config`, `usage`, `no_input`, `no_log`, `unavailable`
 */
export async function topics({ config, connection, json }: LogFlags): Promise<void> {
  const app = Application.fromFile(config)
  const ids = connectionsOf(app, connection)
  const failures: HooklineError[] = []
  const found = await Promise.all(
    ids.map((id) =>
      topicsOf(app, id).catch((error: unknown): ListedTopic[] => {
        if (!(error instanceof HooklineError) || ids.length === 1) throw error
        if (error.code !== "no_log") failures.push(error)
        return []
      }),
    ),
  )
  const rows = found.flat()
  if (json === true) console.log(JSON.stringify(rows, null, 2))
  else {
    const cells = rows.map((it) => [
      `${it.connection}/${it.topic}`,
      it.partitions,
      it.records,
      it.bytes ?? "-",
    ])
    printTable([["TOPIC", "PARTITIONS", "RECORDS", "BYTES"], ...cells.map((row) => row.map(String))], [0])
  }
  const [failure] = failures
  if (failure === undefined) return
  const message = failures.map((it) => it.message).join("\n")
  throw new HooklineError(failure.code, message, { cause: failure })
}

async function topicsOf(app: Application, connection: string): Promise<ListedTopic[]> {
  const reader = await app.openReader(connection)
  try {
    const found = (await reader.topics()).toSorted((a, b) => (a.topic < b.topic ? -1 : 1))
    return found.map((topic) => ({ connection, ...topic }))
  } finally {
    await reader.close()
  }
}
