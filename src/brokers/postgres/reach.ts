import { connectFailure } from "../../postgres/connect-failure.ts"
import { readDurability } from "../../postgres/durability.ts"
import { PostgresLink } from "../../postgres/link.ts"
import { serverOf } from "../../postgres/server.ts"
import type { Reached } from "../define-connection.ts"

/** Connects, and says what a commit is worth there. Creates and publishes nothing. @throws OptionError `config` of postgres_ca */
export async function reachPostgres(options: Parameters<typeof serverOf>[0]): Promise<Reached> {
  const server = serverOf(options)
  try {
    const link = await PostgresLink.open(server, "hookline check", () => {})
    try {
      const { problem, words } = await readDurability(link, server.schema)
      const answers = [`PostgreSQL at ${server.name} ${problem ?? "answers"}`, words]
      return { isUsable: problem === undefined, answers }
    } finally {
      link.drop()
    }
  } catch (error) {
    return { isUsable: false, answers: [connectFailure(server, error).message] }
  }
}
