import type { Values } from "../../config/options/option-types.ts"
import { parsePostgresUrl } from "../../addresses/postgres-url.ts"
import { serverOf } from "../../postgres/server.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { ConnectionMetrics } from "../../telemetry/metrics.ts"
import type { Broker } from "../broker.ts"
import { defineConnection, UNCOUNTED, type Acquired } from "../define-connection.ts"
import { OPTIONS } from "./options.ts"

// The client of PostgreSQL is imported where a connection is used.

/** A log in a PostgreSQL database, which several instances publish to. */
export const POSTGRES = defineConnection({
  name: "postgres",
  title: "PostgreSQL connection",
  aliases: [],
  summary:
    "`[connection:<id>]` with `postgres`: events are rows of a table in PostgreSQL, durable when the transaction is.",
  adjective: "PostgreSQL",
  noun: "PostgreSQL",
  key: "postgres",
  form: "<URL>",
  messagingSystem: "postgresql",
  // a replay's records wait on a connection of their own
  hasOneWriter: false,
  options: OPTIONS,

  describe({ postgres, schema }) {
    const name = parsePostgresUrl(postgres)?.name ?? "postgres://?"
    const address = `${name}, schema ${schema}`
    return { address, place: `PostgreSQL at ${address}`, ofTopic: `of PostgreSQL at ${address}` }
  },
  async acquire({ id, values, config }, { transaction, log, metrics }): Promise<Acquired> {
    const { PostgresBroker } = await import("./broker.ts")
    const broker = transaction.acquire({
      name: `connection ${id}`,
      config,
      open: () =>
        new PostgresBroker(serverOf(values), values, {
          log,
          metrics: metrics.connection(id),
          name: APPEND,
        }),
      retries: ["config"],
      close: (it) => it.close(),
    })
    return { broker, instance: broker }
  },
  open: (values, log) => openBroker(values, log, UNCOUNTED),
  async openReader(values) {
    const { PostgresReader } = await import("./reader.ts")
    return new PostgresReader(serverOf(values), "hookline read")
  },
  dryRun: (values) => void serverOf(values),
  reach: async (values) => (await import("./reach.ts")).reachPostgres(values),
  initialize: async (...given) => (await import("./initialize.ts")).initializePostgres(...given),
  isSameLog(a, b) {
    const [one, other] = [a, b].map(({ postgres, schema }) => `${parsePostgresUrl(postgres)?.name} ${schema}`)
    return one === other
  },
})

const APPEND = "hookline append"

async function openBroker(
  values: Values<typeof OPTIONS>,
  log: Logger,
  metrics: ConnectionMetrics,
): Promise<Broker> {
  const { PostgresBroker } = await import("./broker.ts")
  return new PostgresBroker(serverOf(values), values, { log, metrics, name: APPEND })
}
