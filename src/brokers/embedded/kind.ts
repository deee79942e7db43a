import type { Values } from "../../config/options/option-types.ts"
import { readCertificate, readPrivateKey } from "../../process/pem-files.ts"
import { opening } from "../../errors.ts"
import { logIn } from "../../storage/database-file.ts"
import { realPath } from "../../storage/real-path.ts"
import { UNOPENED } from "../../storage/writer-lock.ts"
import { defineConnection, UNCOUNTED, type Acquired } from "../define-connection.ts"
import { groupOffsets, groupsIn } from "./group-database.ts"
import type { PortOptions } from "../../kafka-listener/port.ts"
import { usersOf } from "../../kafka-listener/security/credentials.ts"
import { checkOptions, OPTIONS } from "./options.ts"
import { checkPartitionsIn } from "./partition-count.ts"
import { openEmbeddedReader } from "./reader.ts"

// The writer's files are imported where a log is opened.

/** A log in a folder, written by this process alone, whatever the ids under which it is registered. */
export const EMBEDDED = defineConnection({
  name: "embedded",
  title: "Embedded connection",
  aliases: [],
  summary:
    "`[connection:<id>]` with `directory`: events are kept in a log in that folder, durably, without any broker.",
  adjective: "embedded",
  noun: "the embedded log",
  key: "directory",
  form: "<folder>",
  messagingSystem: "hookline",
  hasOneWriter: true,
  options: OPTIONS,
  check: checkOptions,

  describe: ({ directory }) => ({
    address: directory,
    place: `embedded log in ${directory}`,
    ofTopic: `of the log in ${directory}, which stays`,
  }),
  async acquire({ id, values, config }, { transaction, log, metrics }): Promise<Acquired> {
    const { openEmbedded } = await import("./broker.ts")
    const broker = transaction.acquire({
      name: `embedded log ${values.directory}`,
      config,
      open: (unopened) =>
        openEmbedded(values, {
          log,
          unopened,
          metrics: metrics.connection(id),
          logMetrics: metrics.embeddedLog(id),
        }),
      retries: UNOPENED,
      close: (it) => it.close(),
    })
    broker.checkPartitions(values.partitions)
    transaction.onCommit(() => {
      broker.partition(values.partitions)
      broker.retain(values)
    })
    const acquired = { broker, instance: broker, keyJournal: broker.keyJournal }
    const { kafka_listen: listen } = values
    if (listen === "off") return acquired
    const options = portOptions(values)
    const port = transaction.acquire({
      name: `Kafka listener of ${values.directory}`,
      config: listen,
      open: (unopened) => broker.listen({ listen, ...options }, unopened),
      retries: UNOPENED,
      close: (it) => it.close(),
    })
    transaction.onCommit(() => port.change(options))
    return { ...acquired, listening: port.listening }
  },
  async open(values, log) {
    const { openEmbedded } = await import("./broker.ts")
    return openEmbedded(values, { log, metrics: UNCOUNTED })
  },
  openReader: (values) => openEmbeddedReader(values.directory, values),
  listGroups: ({ directory }) => groupOffsets(directory),
  dryRun(values, checkDatabase) {
    const { directory, partitions, kafka_listen: listen } = values
    opening("directory", () => checkDatabase(logIn(directory)))
    checkPartitionsIn(logIn(directory), partitions)
    if (listen === "off") return
    opening("directory", () => checkDatabase(groupsIn(directory)))
    portOptions(values)
  },
  isSameLog: (a, b) => realPath(a.directory) === realPath(b.directory),
  files: ({ directory }) =>
    directory === undefined
      ? []
      : [groupsIn(directory), logIn(directory)].map((database) => ({
          key: "directory",
          isInFolder: true,
          path: database.file,
          database,
        })),
  addresses: ({ kafka_listen: listen }) =>
    listen === undefined || listen === "off" ? [] : [{ key: "kafka_listen", listen }],
  logFolder: ({ directory }) => directory,
  oneProcess: () => ({
    key: "directory",
    what: "an embedded log",
    advice: "publish to Kafka",
  }),
})

/**
 * Reads what the listener for Kafka clients needs in addition to its address.
 *
 * @throws OptionError `config` of kafka_tls_certificate or kafka_tls_key
 */
function portOptions({
  kafka_advertised: advertised,
  kafka_users: users,
  kafka_groups: groups,
  kafka_tls_certificate: certificateFile,
  kafka_tls_key: keyFile,
}: Values<typeof OPTIONS>): Omit<PortOptions, "listen"> {
  const known = users === undefined ? undefined : usersOf(users, groups)
  if (certificateFile === undefined || keyFile === undefined)
    return { advertised, users: known, tls: undefined }
  const [cert, certificate] = readCertificate("kafka_tls_certificate", certificateFile)
  const key = readPrivateKey("kafka_tls_key", keyFile, { certificate, of: "kafka_tls_certificate" })
  return { advertised, users: known, tls: { cert, key } }
}
