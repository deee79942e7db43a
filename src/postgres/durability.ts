import { versionOf, isUsable } from "./migrate.ts"
import type { PostgresLink } from "./link.ts"
import { quoted } from "./migrations.ts"

/** The durability of a commit, by the server's own settings. */
export interface Durability {
  /** The reason that no event may be acknowledged; undefined: a commit is durable. */
  readonly problem: string | undefined
  /** The places of a commit before it is acknowledged, and what a failover may lose. */
  readonly words: string
}

interface Settings {
  readonly version: number
  readonly is_standby: boolean
  readonly fsync: string
  readonly full_page_writes: string
  /** The level of this user's transactions. */
  readonly isolation: string
  readonly standby_names: string
  /** Standbys that stream now. */
  readonly standbys: number
  /** Tables that a crash empties. */
  readonly unlogged: readonly string[]
}

const OLDEST = 140_000

/** Reads what a commit is worth on this server. @throws what `PostgresLink.run` throws */
export async function readDurability(link: PostgresLink, schema: string): Promise<Durability> {
  const { rows } = await link.run<Settings>(
    `SELECT current_setting('server_version_num')::integer AS version, pg_is_in_recovery() AS is_standby,
      current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
      current_setting('default_transaction_isolation') AS isolation,
      current_setting('synchronous_standby_names') AS standby_names,
      (SELECT count(*)::integer FROM pg_stat_replication) AS standbys,
      ARRAY(SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND c.relpersistence <> 'p') AS unlogged`,
    [schema],
  )
  const settings = rows[0]!
  const problem = problemOf(settings) ?? (await schemaProblem(link, schema))
  return { problem, words: wordsOf(settings) }
}

function problemOf({
  version,
  is_standby,
  fsync,
  full_page_writes,
  isolation,
  unlogged,
}: Settings): string | undefined {
  if (version < OLDEST) return "is older than PostgreSQL 14"
  if (is_standby) return "is a standby, which takes no writes; connect to the primary"
  if (fsync !== "on") return "has fsync = off: a crash loses what it has acknowledged; turn it on"
  if (full_page_writes !== "on")
    return "has full_page_writes = off: a crash may damage what it has acknowledged; turn it on"
  if (isolation !== "read committed")
    return `begins this user's transactions as ${isolation}; ALTER ROLE … SET default_transaction_isolation = 'read committed'`
  if (unlogged.length > 0)
    return `has an UNLOGGED table, ${unlogged[0]}, which a crash empties; ALTER TABLE … SET LOGGED`
  return undefined
}

async function schemaProblem(link: PostgresLink, schema: string): Promise<string | undefined> {
  const version = await versionOf(link, schema)
  if (version === 0) return `has no log in schema ${schema}; create it: hookline db init`
  if (!isUsable(version))
    return `has a log of another release in schema ${schema} (version ${version}); ${version < 1 ? "bring it up to date: hookline db init" : "upgrade Hookline"}`
  const { rows } = await link.run<{ may: boolean }>(
    `SELECT has_function_privilege($1, 'EXECUTE') AND has_table_privilege($2, 'SELECT') AS may`,
    [
      `${quoted(schema)}.append(integer[], bigint[], integer[], integer[], integer[], bytea)`,
      `${quoted(schema)}.records`,
    ],
  )
  return rows[0]!.may
    ? undefined
    : `does not let this user append to schema ${schema}; grant it: hookline db init --role <user>, as the owner`
}

function wordsOf({ standby_names: names, standbys }: Settings): string {
  if (names !== "") return `a commit is on this server and on the synchronous standbys ${names}`
  if (standbys > 0)
    return "a commit is on this server; its standbys are asynchronous: a failover to one loses events that were acknowledged"
  return "a commit is on the disk of this server"
}
