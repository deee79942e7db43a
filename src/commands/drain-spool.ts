import { pino } from "pino"
import type { YieldingBroker } from "../brokers/broker.ts"
import { SpooledBroker } from "../brokers/spool/spool.ts"
import { HooklineError } from "../errors.ts"
import { steadyMs } from "../clock/clock.ts"
import { exists } from "../process/paths.ts"
import { leaveFolder } from "./folder.ts"
import { Interruption } from "./interruption.ts"
import { startProgressBar } from "./progress-bar.ts"
import { spoolsOf, type Spooling } from "./spool.ts"

const POLL_MS = 100

/**
 * Forwards the events of a spool, also quarantined ones; the exit status is 0 if none is left, else 1.
 *
 * @param id of the connection; undefined: the only one with a spool
 * @throws HooklineError `config`, `usage`, `log_locked` while Hookline runs, `log_io`
 */
export async function drainSpool(
  id: string | undefined,
  options: { readonly config?: string; readonly timeout: number; readonly json?: true },
): Promise<void> {
  const [spooling, ...others] = spoolsOf(options.config, id)
  if (spooling === undefined || others.length > 0)
    throw new HooklineError("usage", "several connections have a spool; name one of them")
  leaveFolder()
  if (!exists(spooling.file)) {
    const result = { forwarded: 0, left: 0, quarantined: 0 }
    return console.log(
      options.json === true ? JSON.stringify(result) : `spool empty: ${spooling.file} does not exist`,
    )
  }

  const { spool, broker } = await openBoth(spooling)
  const before = spool.spool().records
  using interruption = new Interruption()
  const outage = await untilEmpty(spool, steadyMs() + options.timeout, interruption.signal)
  await spool.close()
  await broker.close()
  const { records, quarantined } = spool.spool()
  const forwarded = before - records - quarantined
  if (options.json === true) {
    console.log(JSON.stringify({ forwarded, left: records, quarantined, outage }))
  } else {
    console.log(`${forwarded} forwarded, ${records} left, ${quarantined} quarantined`)
    if (records > 0 && outage !== undefined) console.log(outage)
    if (quarantined > 0) console.log("hookline spool status shows why events were quarantined")
  }
  process.exitCode = records + quarantined === 0 ? 0 : 1
}

async function openBoth({
  file,
  maxBytes,
  openBroker,
}: Spooling): Promise<{ spool: SpooledBroker; broker: YieldingBroker }> {
  const log = pino({ level: "silent" })
  const uncounted = (): void => {}
  const broker = await openBroker(log)
  try {
    const spool = new SpooledBroker(
      { file, maxBytes, requeues: true },
      { log, metrics: { spooled: uncounted, forwarded: uncounted, quarantined: uncounted } },
    )
    spool.use(broker)
    return { spool, broker }
  } catch (error) {
    void broker.close()
    throw error
  }
}

/** @returns the outage of Kafka that left events in the spool, if any */
async function untilEmpty(
  spool: SpooledBroker,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { records: total } = spool.spool()
  using bar = total > 0 ? startProgressBar(total) : undefined
  for (;;) {
    const { records, outage } = spool.spool()
    bar?.update(total - records)
    if (records === 0 || signal.aborted || steadyMs() >= deadlineMs) return outage
    await Bun.sleep(POLL_MS)
  }
}
