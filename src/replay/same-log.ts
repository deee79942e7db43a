import type { LogReader } from "../brokers/broker.ts"
import type { Connection } from "../config/sections/connection.ts"
import { HooklineError } from "../errors.ts"
import { realPath } from "../storage/real-path.ts"

/**
 * Whether two connections lead to the same log: as their options say, else by the cluster ids, which are the same whatever
 * the servers are called; an embedded log's Kafka listener has that of the log.
 *
 * @param open opens the target for reading
 * @throws HooklineError `unavailable`, `no_input`
 */
export async function isSameLog(
  source: { readonly connection: Connection; readonly reader: LogReader },
  target: Connection,
  open: () => Promise<LogReader>,
): Promise<boolean> {
  const { connection, reader } = source
  if (isSameByOptions(connection, target)) return true
  if (target.kind === "memory") return false
  const id = await reader.clusterId()
  if (id === undefined) return false
  try {
    const other = await open()
    return (await other.clusterId().finally(() => other.close())) === id
  } catch (error) {
    // the first record makes it
    if (error instanceof HooklineError && error.code === "no_log") return false
    throw error
  }
}

/** Whether a position's log was replaced; a cluster id that is not known says nothing. */
export const isReplaced = (before: string | undefined, now: string | undefined): boolean =>
  before !== undefined && now !== undefined && before !== now

function isSameByOptions(a: Connection, b: Connection): boolean {
  if (a.kind === "kafka" && b.kind === "kafka")
    return a.values.bootstrap_servers.some((server) => b.values.bootstrap_servers.includes(server))
  if (a.kind === "embedded" && b.kind === "embedded")
    return realPath(a.values.directory) === realPath(b.values.directory)
  return a === b
}
