import type { LogReader } from "../brokers/broker.ts"
import type { Connection } from "../brokers/define-connection.ts"
import { isSameByOptions } from "../brokers/registry.ts"
import { HooklineError } from "../errors.ts"

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
