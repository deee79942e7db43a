import type { Connection } from "./config/connection.ts"
import { HooklineError } from "./errors.ts"
import type { Changeover } from "./holdings.ts"
import { holdConnection, type OpenConnection } from "./open-connection.ts"
import type { Plan } from "./plan.ts"
import type { Logger } from "./telemetry/log.ts"
import type { Metrics } from "./telemetry/metrics.ts"
import type { Remote } from "./workers/membership.ts"

/** The connections of a plan, by id. */
export interface HeldConnections {
  readonly open: ReadonlyMap<string, OpenConnection>
  /** Sees once more, where time has passed since, that no spool goes that holds events. Throws as `holdConnections`. */
  readonly check: () => void
  /** Has them take what is new, now that the change is sure. */
  readonly commit: () => void
}

/**
 * Opens the connections of a plan, or keeps them as they are.
 *
 * @param before what was open until now
 * @param remote says which are open in another process
 * @throws HooklineError `config` when a spool would go that holds events; `log_locked`, `log_io`, `no_input`
 */
export function holdConnections(
  before: HeldConnections["open"],
  { connections }: Pick<Plan, "connections">,
  changeover: Changeover,
  { log, metrics }: { readonly log: Logger; readonly metrics: Metrics },
  remote: (id: string) => Remote | undefined = () => undefined,
): HeldConnections {
  const check = (): void => checkSpools(before, connections)
  check()
  const held = [...connections].map(([id, connection]) => {
    const there = remote(id)
    if (there !== undefined) return [id, holdRemote(there, changeover)] as const
    const deps = {
      log: log.child({ connection: id }),
      metrics: metrics.connection(id),
      spoolMetrics: () => metrics.spool(id),
      logMetrics: () => metrics.embeddedLog(id),
    }
    return [id, holdConnection(id, connection, changeover, deps)] as const
  })
  const open = new Map(held)
  return {
    open,
    check,
    commit() {
      const kept = new Set([...open.values()].map(({ broker }) => broker))
      for (const { spool } of before.values())
        if (spool !== undefined && !kept.has(spool.broker)) spool.broker.retire()
      for (const { take } of open.values()) take()
    },
  }
}

/** A broker in another process, which has its options. */
function holdRemote({ number, open }: Remote, changeover: Changeover): OpenConnection {
  const broker = changeover.hold({
    name: `hosted broker ${number}`,
    wants: undefined,
    open,
    close: (it) => it.close(),
  })
  return { broker, instance: broker, take() {} }
}

/**
 * Sees that no spool goes, or becomes another connection's, while it has events of its own.
 *
 * @throws HooklineError `config`
 */
function checkSpools(
  before: ReadonlyMap<string, OpenConnection>,
  wanted: ReadonlyMap<string, Connection>,
): void {
  const fileOf = (id: string): string | undefined => {
    const connection = wanted.get(id)
    return connection?.kind === "kafka" ? connection.values.spool : undefined
  }
  for (const [id, { spool }] of before) {
    if (spool === undefined || fileOf(id) === spool.file) continue
    const other = [...wanted.keys()].find((it) => fileOf(it) === spool.file)
    if (other !== undefined) {
      throw new HooklineError(
        "config",
        `[connection:${other}] spool: ${spool.file} is the spool of connection ${id}, and becomes another one's with a restart`,
      )
    }
    if (!spool.broker.isIdle()) {
      throw new HooklineError(
        "config",
        `[connection:${id}] spool: ${spool.file} holds events that Kafka has yet to take; keep it until it is empty (hookline spool status), or restart to leave them there`,
      )
    }
  }
}
