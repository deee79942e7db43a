import { expect, test } from "bun:test"
import { join } from "node:path"
import { isFull, KILL_TRIALS as ROUNDS, report } from "../support/fault-table.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { fillLog } from "../support/embedded-log.ts"
import { freePort } from "../support/ports.ts"
import { startCommand, type RunningCommand } from "../support/running-command.ts"

const EVENTS = 200
const KEYS = 20
const CONCURRENCY = 16
/** Eight for each that may be under way. */
const WINDOW = 8 * CONCURRENCY
const APP = [process.execPath, join(import.meta.dir, "../support/accepting-program.ts")]

/** What an app has accepted, in order. */
const acceptedBy = (app: RunningCommand): string[] => app.output().split("\n").slice(1, -1)

test(
  `[forward:…] with ${CONCURRENCY} in flight, killed ${ROUNDS} times as its target is: per key in order, nothing missing`,
  async () => {
    using folder = temporaryFolder()
    const port = await freePort()
    const configuration = `[connection:log]
directory = log
[forward:app]
from = log/webhooks
url = http://127.0.0.1:${port}/hook
begin = beginning
concurrency = ${CONCURRENCY}
[pipeline:other:WebHookSource]
[pipeline:other:BrokerSink]
topic = other
`
    const sent = ROUNDS * EVENTS
    const keys = Array.from({ length: sent }, () => `k${Math.floor(Math.random() * KEYS)}`)
    const records = keys.map((key, n) => ({ key: Buffer.from(key), value: Buffer.from(`${n}`) }))
    await fillLog(`${folder.path}/log`, "webhooks", records)
    await using started = new AsyncDisposableStack()
    const startApp = (): RunningCommand =>
      started.use(startCommand([`${port}`], folder.path, { program: APP }))
    const apps = [startApp()]
    /** Resolves when the app has accepted more. */
    const accepts = async (more: number): Promise<void> => {
      const app = apps.at(-1)!
      await app.printed(new RegExp(`^(?:.*\n){${1 + acceptedBy(app).length + more}}`))
    }
    const killApp = async (): Promise<void> => {
      const app = apps.at(-1)!
      app.signal("SIGKILL")
      await app.exited
      apps.push(startApp())
    }
    for (let round = 0; round < ROUNDS; round++) {
      await using service = await startHookline(configuration, { folder: folder.path })
      await accepts(Math.floor(Math.random() * 50))
      if (round % 2 === 1) {
        await killApp()
        await accepts(1 + Math.floor(Math.random() * 10))
      }
      service.signal("SIGKILL")
      // an app that ends at the same time
      if (round % 4 === 2) await killApp()
      await service.exited
    }
    const accepted = (): string[] => apps.flatMap(acceptedBy)
    {
      await using service = await startHookline(configuration, { folder: folder.path })
      await service.logged(({ msg }) => msg.startsWith("forwarding"))
      while (new Set(accepted()).size < sent) await accepts(1)
    }
    const all = accepted()
    const firsts = [...new Set(all)].map((line) => line.split(" "))
    const doubled = all.length - firsts.length
    report(`[forward:…] with ${CONCURRENCY} in flight, killed ${ROUNDS} times, target failing and killed`, {
      sent,
      acknowledged: sent,
      found: firsts.length,
      lost: sent - firsts.length,
      doubled,
      longestWaitMs: undefined,
    })
    for (const [key, ofKey] of Map.groupBy(firsts, ([, one]) => one)) {
      const offsets = ofKey.map(([offset]) => Number(offset))
      expect(offsets).toEqual([...keys.keys()].filter((offset) => keys[offset] === key))
    }
    // each kill repeats a window at most, each kill of the target what was in flight
    expect(doubled).toBeLessThanOrEqual(ROUNDS * (WINDOW + CONCURRENCY))
  },
  isFull ? 1_200_000 : 300_000,
)
