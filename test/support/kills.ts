import { expect } from "bun:test"
import { isFull } from "./fault-table.ts"
import { compare, type Findings, type Logged } from "./findings.ts"
import { temporaryFolder, type LogLine, type RunningHookline } from "./hookline.ts"
import { NumberedSenders } from "./numbered-senders.ts"
import { freePorts } from "./ports.ts"
import { childrenOf } from "./worker-processes.ts"
import { serving, startService } from "./webhook-service.ts"

export const DELIVERY_TIMEOUT_MS = 2000
export const KILLS = isFull ? 20 : 4
/** Each waits longer for the next one's start, see restart-delay.ts. */
export const WORKER_KILLS = isFull ? 8 : 4

interface Service {
  readonly connection: string
  readonly topic: string
  readonly read: () => Promise<Logged[]>
}

/** Two workers under load of which one is killed again and again, as soon as both take webhooks. */
export async function killWorkers(times: number, { connection, topic, read }: Service): Promise<Findings> {
  using folder = temporaryFolder()
  const [port] = await freePorts(1)
  await using running = await startService({
    folder: folder.path,
    connection,
    topic,
    deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
    port: port!,
    workers: 2,
  })
  const isBack = ({ msg }: LogLine): boolean => msg === "worker restarted"
  await using senders = new NumberedSenders(serving(running), { pauseMs: 1 })
  for (let time = 1; time <= times; time++) {
    await senders.many(50 + Math.floor(Math.random() * 100))
    // in turn, so that neither is taken for one that ends again and again before the other
    process.kill(childrenOf(running.pid)[0]!, "SIGKILL")
    await running.logged(() => running.log.filter(isBack).length === time)
  }
  await senders.many(50)
  await senders.stop()
  expect(await running.stop()).toBe(0)
  return compare(senders.posted, await read())
}

/** A Hookline under load that is ended again and again, each time at another moment of its work, and started anew. */
export async function endAgainAndAgain(
  times: number,
  end: (running: RunningHookline) => Promise<void>,
  { connection, topic, read }: Service,
): Promise<Findings> {
  using folder = temporaryFolder()
  const [port] = await freePorts(1)
  await using started = new AsyncDisposableStack()
  const start = async (): Promise<RunningHookline> => {
    const settings = { folder: folder.path, connection, topic, deliveryTimeoutMs: DELIVERY_TIMEOUT_MS }
    return started.use(await startService({ ...settings, port: port! }))
  }
  let running = await start()
  await using senders = new NumberedSenders(serving(running), { pauseMs: 1 })
  for (let time = 0; time < times; time++) {
    await senders.many(50 + Math.floor(Math.random() * 100))
    await end(running)
    running = await start()
    senders.pid = running.pid
  }
  await senders.many(50)
  await senders.stop()
  await running.stop()
  return compare(senders.posted, await read())
}

export async function kill(running: RunningHookline): Promise<void> {
  running.signal("SIGKILL")
  await running.exited
}
