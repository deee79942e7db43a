import { afterEach, beforeEach, expect } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pino } from "pino"
import { steadyMs } from "../../src/clock/clock.ts"
import { SpooledBroker } from "../../src/brokers/spool/spool.ts"
import type { SpoolOptions } from "../../src/brokers/spool/store.ts"
import type { Receipt, Record } from "../../src/pipeline/record.ts"
import { until } from "./kafka-options.ts"
import { ScriptedBroker } from "./scripted-broker.ts"

/** The receipt of an event that went into the file. */
export const SPOOLED = { partition: -1, offset: -1 }
/** In place of the seconds that production waits. */
const [SETTLE_MS, STUCK_MS] = [200, 300]

/** Spools of one file before a broker that a test scripts, with what they log and count. Each test finds it as new. */
class SpoolFixture {
  readonly directory = mkdtempSync(join(tmpdir(), "hookline-spool-"))
  readonly file = join(this.directory, "made", "spool.sqlite")
  readonly broker = new ScriptedBroker()
  readonly counts = { spooled: 0, forwarded: 0, quarantined: 0 }
  readonly lines: { level: number; msg: string; topic?: string }[] = []
  readonly opened: SpooledBroker[] = []

  readonly open = (options: Partial<SpoolOptions> = {}, before = this.broker): SpooledBroker => {
    const count =
      (name: keyof typeof this.counts) =>
      (records = 1) =>
        void (this.counts[name] += records)
    const metrics = {
      spooled: count("spooled"),
      forwarded: count("forwarded"),
      quarantined: count("quarantined"),
    }
    const log = pino({}, { write: (line) => void this.lines.push(JSON.parse(line)) })
    const { file } = this
    const spool = new SpooledBroker(
      { file, maxBytes: Number.POSITIVE_INFINITY, ...options },
      { log, metrics, settleMs: SETTLE_MS, stuckMs: STUCK_MS },
    )
    spool.use(before)
    this.opened.push(spool)
    return spool
  }

  /** The values of records; of those in the broker's log, unless given. */
  readonly texts = (records: readonly Record[] = this.broker.log): string[] =>
    records.map(({ value }) => Buffer.from(value).toString())

  begin(): void {
    mkdirSync(this.directory, { recursive: true })
    this.broker.reset()
    Object.assign(this.counts, { spooled: 0, forwarded: 0, quarantined: 0 })
    this.lines.length = 0
  }

  async end(): Promise<void> {
    await Promise.all(this.opened.splice(0).map((spool) => spool.close()))
    rmSync(this.directory, { recursive: true })
  }
}

export function eachWithSpool(): SpoolFixture {
  const fixture = new SpoolFixture()
  beforeEach(() => fixture.begin())
  afterEach(() => fixture.end())
  return fixture
}

export const publish = (
  spool: SpooledBroker,
  text: string,
  { topic = "t", key = "k", ms = 10_000 }: { topic?: string; key?: string; ms?: number } = {},
): Promise<Receipt> =>
  spool.publish({ topic, key: Buffer.from(key), value: Buffer.from(text) }, steadyMs() + ms)

export const isEmpty = (spool: SpooledBroker) => (): boolean => spool.spool().records === 0

/** Until the topics are direct again: a receipt of the broker's own shows it. */
export const direct = (spool: SpooledBroker): Promise<void> =>
  until("events go to the broker", async () => (await publish(spool, "direct")).partition === 0)

/** Expects values `key:number`, whose numbers rise in the order of publishing, to rise for each key. */
export function expectOrderPerKey(logged: readonly string[]): void {
  const latest = new Map<string, number>()
  for (const text of logged) {
    const [key, number] = text.split(":") as [string, string]
    expect(Number(number)).toBeGreaterThan(latest.get(key) ?? -1)
    latest.set(key, Number(number))
  }
}
