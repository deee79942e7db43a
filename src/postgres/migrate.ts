import { randomUUID } from "node:crypto"
import { PostgresLink } from "./link.ts"
import { MIGRATIONS, quoted, SCHEMA_VERSION } from "./migrations.ts"

/** One `db init` at a time: any number that other programs are unlikely to lock. */
const LOCK = 0x68_6f_6f_6b

interface Migrated {
  /** The versions that were applied now. */
  readonly applied: readonly number[]
}

/**
 * Creates the schema of a log, or brings it to this release's version, in one transaction.
 *
 * @param role who may append and read, if it is another than the one that is connected @throws DatabaseError
 */
export async function migrate(
  link: PostgresLink,
  schema: string,
  role: string | undefined,
): Promise<Migrated> {
  const name = quoted(schema)
  await link.run("BEGIN")
  await link.run("SELECT pg_advisory_xact_lock($1)", [LOCK])
  await link.run(`CREATE SCHEMA IF NOT EXISTS ${name}`)
  const has = await versionOf(link, schema)
  const missing = MIGRATIONS.filter(({ version }) => version > has)
  for (const { version, sql } of missing) {
    await link.run(sql.replaceAll("$schema", name).replaceAll("$id", `'${randomUUID()}'`))
    await link.run(`INSERT INTO ${name}.migrations (version) VALUES ($1)`, [version])
  }
  if (role !== undefined) await link.run(grants(name, quoted(role)))
  await link.run("COMMIT")
  return { applied: missing.map(({ version }) => version) }
}

/** The version of a schema; 0: it has no log. */
export async function versionOf(link: PostgresLink, schema: string): Promise<number> {
  const { rows: tables } = await link.run<{ has: boolean }>("SELECT to_regclass($1) IS NOT NULL AS has", [
    `${quoted(schema)}.migrations`,
  ])
  if (!tables[0]!.has) return 0
  const { rows } = await link.run<{ version: number }>(
    `SELECT max(version) AS version FROM ${quoted(schema)}.migrations`,
  )
  return rows[0]!.version
}

/** Whether this release runs on a schema of that version. */
export const isUsable = (version: number): boolean =>
  version >= SCHEMA_VERSION && version <= SCHEMA_VERSION + 1

/** No DDL, no INSERT, no DELETE: what it writes goes through the functions. */
const grants = (schema: string, role: string): string => `
GRANT USAGE ON SCHEMA ${schema} TO ${role};
GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${role};
`
