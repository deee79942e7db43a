import { resolve } from "node:path"
import type { Acquired, ConnectionKind } from "../brokers/define-connection.ts"
import { reopenConfig } from "../config/options/reloading.ts"
import { HooklineError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Metrics } from "../telemetry/metrics.ts"
import type { Plan } from "./plan/plan.ts"
import type { PlanTransaction } from "./plan-transaction.ts"

/** A connection open for publishing. */
export interface OpenConnection extends Acquired {
  readonly kind: ConnectionKind
  readonly deliveryTimeoutMs: number
  /** The folder of its log, absolute. */
  readonly logDirectory?: string | undefined
}

export type OpenConnections = ReadonlyMap<string, OpenConnection>

interface ConnectionDependencies {
  readonly log: Logger
  readonly metrics: Metrics
}

/**
 * Opens the connections of a plan, or keeps open ones. Does not wait for brokers. At a start, those that can't be opened
 * now are in `transaction.unopened`.
 *
 * @throws HooklineError `config`, `log_locked`, `log_io`, `listen`
 */
export async function acquireConnections(
  { connections }: Pick<Plan, "connections">,
  transaction: PlanTransaction,
  before: OpenConnections,
  { log, metrics }: ConnectionDependencies,
): Promise<OpenConnections> {
  const open = new Map<string, OpenConnection>()
  for (const [id, connection] of connections) {
    const { kind, values } = connection
    const config = reopenConfig(kind, values)
    const how = { id, config, log: log.child({ connection: id }), metrics }
    const acquired = await transaction.connect(connection, how)
    const folder = kind.logFolder?.(values)
    const logDirectory = folder === undefined ? undefined : resolve(folder)
    open.set(id, { ...acquired, kind, deliveryTimeoutMs: values.delivery_timeout, logDirectory })
  }
  await Promise.all([...open.values()].map(({ listening }) => listening))
  transaction.onCommit(() => {
    const kept = new Set([...open.values()].map(({ broker }) => broker))
    for (const { spool } of before.values())
      if (spool !== undefined && !kept.has(spool.broker)) spool.broker.retire()
  })
  return open
}

/** Refuses to close, or to move to another connection, a spool that holds events. @throws HooklineError `config` */
export function checkSpools(before: OpenConnections, { connections }: Pick<Plan, "connections">): void {
  const fileOf = (id: string): string | undefined => {
    const connection = connections.get(id)
    return connection?.kind.spool?.(connection.values)?.file
  }
  for (const [id, { spool }] of before) {
    if (spool === undefined || fileOf(id) === spool.file) continue
    const other = [...connections.keys()].find((it) => fileOf(it) === spool.file)
    if (other !== undefined) {
      throw new HooklineError(
        "config",
        `[connection:${other}] spool: ${spool.file} is the spool of connection ${id}, and can move to another only at a restart`,
      )
    }
    if (!spool.broker.isIdle()) {
      throw new HooklineError(
        "config",
        `[connection:${id}] spool: ${spool.file} holds events not yet forwarded to Kafka; keep it until it is empty (hookline spool status), or restart to leave them there`,
      )
    }
  }
}
