import { connectFailure } from "../../postgres/connect-failure.ts"
import { PostgresLink } from "../../postgres/link.ts"
import { migrate } from "../../postgres/migrate.ts"
import { serverOf } from "../../postgres/server.ts"

/** Creates the schema of the log, or brings it up to date. @throws HooklineError `unavailable` */
export async function initializePostgres(
  options: Parameters<typeof serverOf>[0],
  role: string | undefined,
): Promise<readonly string[]> {
  const server = serverOf(options)
  let link: PostgresLink | undefined
  try {
    link = await PostgresLink.open(server, "hookline db init", () => {})
    const { applied } = await migrate(link, server.schema, role)
    const schema = `schema ${server.schema} of PostgreSQL at ${server.name}`
    const done =
      applied.length === 0 ? `${schema} is up to date` : `${schema} has the log, version ${applied.at(-1)}`
    return role === undefined ? [done] : [done, `${role} may publish to it and read it`]
  } catch (error) {
    throw connectFailure(server, error)
  } finally {
    link?.drop()
  }
}
