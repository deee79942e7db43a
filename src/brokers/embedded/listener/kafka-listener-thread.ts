import { Commits } from "./commits.ts"
import type { Broker } from "./apis/context.ts"
import type { GroupChanges } from "./groups/group-database.ts"
import { Groups } from "./groups/groups.ts"
import type { LostRecords } from "../damage.ts"
import { LogView } from "./log-view.ts"
import { Port } from "./port.ts"
import { SharedCounters } from "./shared-counters.ts"
import type { FromThread, ToThread } from "./thread-messages.ts"

/*
 * The program of the listener's thread: serves Kafka clients from the log, with a reader of its own. The event loop's side is
 * kafka-listener.ts.
 */

declare const self: Worker

const tell = (message: FromThread): void => self.postMessage(message, [])
const failed = (error: unknown): void => tell({ kind: "fault", error })
const ports = new Map<number, Port>()
let broker: Broker

const MOST_NOTED = 1000
/** Records that the log has a line about. */
const noted = new Set<string>()

function noteDamage(records: LostRecords): void {
  const { topic, partition, first } = records
  const name = `${topic} ${partition} ${first}`
  if (noted.has(name) || noted.size === MOST_NOTED) return
  noted.add(name)
  tell({ kind: "damaged", records })
}

function perform(message: ToThread): void {
  switch (message.kind) {
    case "start": {
      const counters = new SharedCounters(message.counters)
      broker = {
        log: new LogView(message.directory, counters, noteDamage),
        commits: new Commits(counters),
        groups: new Groups({
          write: (changes) => tell({ kind: "write", changes }),
          expired: (groups) => tell({ kind: "groups_expired", groups }),
        }),
        retention: { ms: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY },
      }
      break
    }
    case "open":
      broker.log.open()
      break
    case "close":
      broker.log.close()
      break
    case "committed":
      broker.commits.committed(message.topics)
      break
    case "retain":
      broker.retention = message.retention
      break
    case "groups":
      load(message.state).catch(failed)
      break
    case "written":
      broker.groups.written(message.isWritten)
      break
    case "listen":
      listen(message)
      break
    case "change":
      change(message)
      break
    case "unlisten":
      ports.get(message.id)?.close()
      ports.delete(message.id)
      break
    case "end":
      for (const port of ports.values()) port.close()
      broker.log.close()
      tell({ kind: "ended" })
  }
}

async function load(state: GroupChanges): Promise<void> {
  while (broker.log.whenOpen() !== undefined) await broker.log.whenOpen()
  const { log, groups } = broker
  const { isOfAnotherLog, setBack } = groups.load(state, {
    clusterId: log.clusterId,
    lastCommittable: (topic, partition, epoch) => log.lastCommittable(topic, partition, epoch),
  })
  if (isOfAnotherLog) tell({ kind: "groups_of_another_log" })
  if (setBack.length > 0) tell({ kind: "offsets_set_back", setBack })
}

/** Another certificate needs another server, which disconnects the clients of the one before. */
function change(message: Extract<ToThread, { kind: "change" }>): void {
  const port = ports.get(message.id)
  if (port === undefined) return
  const { tls } = port.options
  if (tls?.cert === message.port.tls?.cert && tls?.key === message.port.tls?.key) {
    port.options = message.port
    return
  }
  port.close()
  ports.delete(message.id)
  listen({ ...message, kind: "listen" })
}

function listen({ id, port: options }: Extract<ToThread, { kind: "listen" }>): void {
  try {
    const refused = (reason: string, client: string): void => tell({ kind: "refused", reason, client })
    const port = new Port(options, { broker, failed, refused })
    ports.set(id, port)
    tell({ kind: "listening", id, port: port.port })
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException
    tell({ kind: "not_listening", id, code, message })
  }
}

self.addEventListener("message", ({ data }: MessageEvent<ToThread>) => {
  try {
    perform(data)
  } catch (error) {
    failed(error)
  }
})
