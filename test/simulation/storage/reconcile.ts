import { Database } from "bun:sqlite"
import { Trial } from "./trial.ts"
import { HooklineError } from "../../../src/errors.ts"
import { HOUR_MS, type Certificate } from "../../../src/extensions/reconcile/certificate.ts"
import { ledgerIn } from "../../../src/extensions/reconcile/ledger-database.ts"
import { Ledger } from "../../../src/extensions/reconcile/ledger-database.ts"
import type { Listing } from "../../../src/extensions/reconcile/listing.ts"
import { LISTINGS } from "../../../src/extensions/reconcile/listings.ts"
import { indexed, OutcomeWriter, type OutcomeStore } from "../../../src/extensions/reconcile/outcome-index.ts"
import { Reconciler } from "../../../src/extensions/reconcile/reconciler.ts"
import { SenderApi } from "../../../src/extensions/reconcile/sender-api.ts"
import type { Broker, LogReader } from "../../../src/brokers/broker.ts"
import { dedupeKeysSpec } from "../../../src/dedupe/open-store.ts"
import type { Handler } from "../../../src/pipeline/compose.ts"
import type { Processor } from "../../../src/pipeline/event.ts"
import { Rejected } from "../../../src/pipeline/outcome.ts"
import type { Record as Stored } from "../../../src/pipeline/record.ts"
import { eventOf } from "../../support/event.ts"
import type { Simulation } from "../simulation.ts"
import { BEGINS_MS } from "../simulated-process.ts"
import { simulatedLog } from "./log.ts"
import { handlerOf, KEY_OF, watchKeys } from "./pipeline.ts"
import { ModelBroker, RemoteLog } from "./remote-log.ts"
import { scenarioOf, type StorageScenario } from "./scenario.ts"
import { bodyOf, Sender, type Sent } from "./sender.ts"

/** GitHub's row, a thousand times as quick. */
const LATENCY_MS = 60
const { redeliver, item, ...COMMON } = LISTINGS["github"]!
const { got: _, ...ITEM } = item
const QUICK = { ...COMMON, latencyMs: LATENCY_MS, perHour: 3_600_000_000 }
const REDELIVER = { ...redeliver!, perMinute: 60_000 }
/** With and without the status that the sender got, by senders that deliver again, and by those that only list. */
const ROWS: { readonly [provider: string]: Listing } = {
  "says, repeats": { ...QUICK, redeliver: REDELIVER, item },
  repeats: { ...QUICK, redeliver: REDELIVER, item: ITEM },
  says: { ...QUICK, item: { ...item, body: "/event" } },
  lists: { ...QUICK, item: { ...ITEM, body: "/event" } },
}
// the ledger's thread looks them up, too
Object.assign(LISTINGS, ROWS)
const ACCESS = { credentials: "obviously-fake", endpoint: "repos/a/b/hooks/7" }
const PAUSES = { first: 5, longest: 40 }
const ID = "sender"
const WINDOWS = [300, 2 * HOUR_MS]

interface Running {
  readonly reconciler: Reconciler
  readonly handler: Handler
  readonly ready: () => true | string
  readonly close: () => Promise<void>
}

const idOf = ({ value }: Pick<Stored, "value">): string =>
  (JSON.parse(Buffer.from(value).toString()) as { id: string }).id

/** Refuses what the front door refuses always. */
const refuse: Processor = Object.assign(
  (event: Parameters<Processor>[0]) => {
    const { answer } = JSON.parse(Buffer.from(event.body).toString()) as { answer: Sent["answer"] }
    return answer === undefined ? event : new Rejected(answer, "refused", "")
  },
  { isBounded: true as const },
)

/** The files of an index, which outlive a process. */
class ModelIndex implements OutcomeStore {
  readonly #texts: (readonly [hour: number, lines: string])[] = []
  readonly #fails: () => boolean

  constructor(fails: () => boolean) {
    this.#fails = fails
  }

  async append(hour: number, lines: string): Promise<void> {
    if (this.#fails()) throw new Error("the disk is full")
    this.#texts.push([hour, lines])
  }

  async *read(fromHour: number): AsyncIterable<string> {
    for (const [hour, lines] of this.#texts) if (hour >= fromHour) yield lines
  }

  async forget(): Promise<void> {
    this.#texts.length = 0
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/**
 * A sender whose events a pipeline with a Deduplicator accepts, refuses, or can't publish now, and what reconciles them. The
 * sender's list has the status that it got, or an index has it; it delivers again, or what it lists is published.
 */
class ReconcileTrial {
  readonly trial: Trial<Running>
  readonly #remote: RemoteLog
  readonly #sender: Sender
  readonly #index: ModelIndex
  readonly #windowMs: number
  readonly #provider: string
  readonly #repeats: boolean
  readonly #timeoutMs: number
  readonly #certificates: Certificate[] = []
  /** Those whose sender got 200. */
  readonly #delivered = new Set<string>()
  /** Those that were answered 200, and keys that could not be stored. */
  readonly #accepted = new Set<string>()
  readonly #unmarked = new Set<string>()
  /** Crashes and failures of the disk: each may keep an attempt that was not made from being taken back. */
  #interruptions = 0
  /** At the last certificate of an hour. */
  readonly #interruptionsAt = new Map<string, number>()
  /** Events from before the first pass, if a disk failed then: nothing says from when to list. */
  readonly #unknown = new Set<string>()
  #wasComplete = false
  /** Whether it was seen, before an event is asked for, that the pipeline accepts events. */
  #mayAsk = false
  #lastAsked = ""
  #wellWindow: Certificate | undefined

  constructor(scenario: StorageScenario) {
    this.#timeoutMs = scenario.settings.timeoutMs
    this.trial = new Trial<Running>(scenario, () => ({
      open: ({ disk: { folder } }) => this.#open(folder),
      ready: ({ ready }) => ready(),
      close: (service) => service.close(),
      publish: ({ key, bytes }) => this.#sender.send(bytes === 100 ? 500 : key === 2 ? 400 : undefined),
      ended: () => void this.#interruptions++,
      remote: (state) => {
        this.#remote.set(state)
        this.#sender.isDown = state.state === "silent"
      },
      heal: () => {
        this.#remote.set({ state: "up", lostAnswers: 0 })
        this.#sender.isWell = true
      },
      tryOut: (succeeded, done) => {
        const { window, problem } = this.trial.service?.reconciler.state ?? {}
        this.#wellWindow ??= window
        if (window !== this.#wellWindow && window?.open === 0 && problem === undefined) succeeded()
        this.trial.world.after(0, done)
      },
      recoveryMs: 4000,
      check() {},
      checkHealed: () => this.#check(),
    }))
    const { world, random: pick } = this.trial
    this.#windowMs = pick.pick(WINDOWS)
    this.#provider = pick.pick(["says, repeats", ...Object.keys(ROWS)])
    this.#repeats = ROWS[this.#provider]!.redeliver !== undefined
    this.#remote = new RemoteLog(world)
    this.#index = new ModelIndex(() => this.#fails(20))
    this.#sender = new Sender(world, {
      // an hour of the sender's ends in the middle, or none does
      aheadMs: pick.pick([0, HOUR_MS - 1500, -HOUR_MS - 1500]),
      pageSize: pick.pick([5, 20, 100]),
      failing: pick.pick([0, 5, 30]),
      forbidden: pick.pick([0, 0, 50]),
      lateListings: pick.pick([0, 20]),
      latencyMs: LATENCY_MS,
      retries: this.#repeats ? 0 : 2,
      downMs: pick.pick([0, 0, 1500]),
    })
    this.#sender.deliver = (event, answered) => this.#deliver(event, answered)
    this.#sender.asked = (event) => this.#asked(event)
  }

  /** In so many of a hundred cases, until everything heals. */
  #fails(percent: number): boolean {
    return !this.#sender.isWell && this.trial.random.below(100) < percent
  }

  #open(folder: string): Running {
    const { world } = this.trial
    const process = world.current!
    const log = simulatedLog(world, folder)
    const stopping = new AbortController()
    const keys = dedupeKeysSpec({ kind: "embedded", directory: folder, name: folder }, log).open()
    watchKeys(keys, (key) => this.#unmarked.add(key))
    const broker = this.#watched(new ModelBroker(this.#remote, () => () => {}))
    const parts = { broker, keys, log, deliveryTimeoutMs: this.#timeoutMs }
    const pipeline = handlerOf(parts, [refuse])
    const { item: where } = ROWS[this.#provider]!
    const writer = where.got !== undefined ? undefined : new OutcomeWriter(this.#index, HOUR_MS, () => {})
    const handler = writer === undefined ? pipeline : indexed(pipeline, "/id", writer)
    const failed = (...line: [object, string]): void => {
      this.#interruptions++
      log.error(...line)
    }
    const reconciler = new Reconciler({
      id: ID,
      provider: this.#provider,
      api: new SenderApi(ROWS[this.#provider]!, ACCESS, stopping.signal, {
        pauses: PAUSES,
        fetch: this.#sender.fetchIn(process) as never,
      }),
      ledger: new Ledger(ledgerIn(folder, ID), { ...log, error: failed } as typeof log),
      index: writer && this.#index,
      shared: undefined,
      target: {
        inject: this.#repeats ? undefined : (body) => this.#inject(handler, body),
        isAt: () => true,
        problem: async () => {
          this.#mayAsk = this.#remote.state === "up"
          return this.#mayAsk ? undefined : "the broker is down"
        },
      },
      // the log is no file
      openLog: async () => ({ async close() {} }) as LogReader,
      windowMs: this.#windowMs,
      everyMs: 100,
      certified: (certificate) => this.#certified(certificate),
      log,
      signal: stopping.signal,
    })
    const running = reconciler.run()
    const close = async (): Promise<void> => {
      stopping.abort(new HooklineError("closing", "stopping"))
      await running
      await Promise.all([reconciler.close(), writer?.close(), broker.close(), keys.store.close()])
    }
    const ready = (): true | string => reconciler.state.problem ?? keys.store.ready()
    return { reconciler, handler, ready, close }
  }

  /** What was answered 200 is not published again. */
  #watched(broker: Broker): Broker {
    return {
      publish: (record, deadlineMs) => {
        const id = idOf(record)
        if (this.#accepted.has(id) && !this.#unmarked.has(KEY_OF(eventOf(record.value))!))
          this.trial.world.violate(`${id} is published again although it was answered 200`)
        return broker.publish(record, deadlineMs)
      },
      prepare: (topics) => broker.prepare(topics),
      ready: () => broker.ready(),
      close: () => broker.close(),
    }
  }

  async #handle(handler: Handler, event: Pick<Sent, "guid" | "answer">): Promise<number> {
    const request = eventOf(bodyOf(event))
    const outcome = await handler.handle(
      Object.assign(request, { request: { ...request.request, isVerified: true } }),
    )
    const status = outcome.kind === "rejected" ? outcome.status : 200
    if (status === 200) this.#accepted.add(event.guid)
    return status
  }

  #deliver(event: Sent, answered: (status: number) => void): void {
    const { trial } = this
    this.#wasComplete ||= trial.service?.reconciler.state.completeAtMs !== undefined
    if (!this.#wasComplete) this.#unknown.add(event.guid)
    let status = 0
    trial.call(
      async ({ handler }) => {
        const answer = await this.#handle(handler, event)
        status = this.#remote.losesAnswer() ? 0 : answer
      },
      () => {
        if (status === 200) this.#delivered.add(event.guid)
        answered(status)
      },
    )
  }

  /** As a service does. */
  async #inject(handler: Handler, body: string): Promise<string | undefined> {
    const { id } = JSON.parse(body) as { id: string }
    const event = this.#sender.sent.get(id)!
    const status = await this.#handle(handler, event)
    if (status === 503) throw new HooklineError("unavailable", "the pipeline answered 503")
    event.asked++
    return status === 200 ? "accepted" : status === 400 ? "refused 400" : undefined
  }

  #asked({ guid, asked, askedAtMs }: Sent): void {
    const { world } = this.trial
    if (!this.#mayAsk && guid !== this.#lastAsked)
      world.violate(`${guid} is asked for without a look at the pipeline`)
    if (asked >= 3) world.violate(`${guid} is asked for ${asked + 1} times`)
    if (world.nowMs - askedAtMs < LATENCY_MS / 3) world.violate(`${guid} is asked for twice at once`)
    this.#mayAsk = false
    this.#lastAsked = guid
  }

  async #certified(certificate: Certificate): Promise<void> {
    const { world } = this.trial
    const { from, open, revision } = certificate
    if (this.#remote.state !== "up" || this.#fails(30))
      throw new HooklineError("unavailable", "the broker is down")
    if (open > 0) world.violate("an hour is certified that has events left to ask for")
    const before = this.#certificates.findLast((it) => it.from === from)
    // its record may have been published, and its ledger not written
    const mayRepeat = this.#interruptionsAt.get(from) !== this.#interruptions
    if (before !== undefined && revision <= before.revision && !mayRepeat)
      world.violate(`the certificate from ${from} comes again with revision ${revision}`)
    this.#interruptionsAt.set(from, this.#interruptions)
    this.#certificates.push(certificate)
  }

  /** Each event is accounted for by its outcome, in the ledger and in the certificate of its hour. */
  #check(): void {
    const { world, machine } = this.trial
    const published = new Set(this.#remote.records.map(idOf))
    using db = new Database(ledgerIn(machine.disk.folder, ID).file)
    const rows = new Map(
      db
        .query<{ id: string; outcome: string | null; attempts: number }, []>("SELECT * FROM events")
        .all()
        .map((row) => [row.id, row]),
    )
    const certified = new Set(this.#certificates.map(({ from }) => Date.parse(from)))
    const interruptions = this.#interruptions
    for (const { guid, firstMs, answer, asked, unanswered } of this.#sender.sent.values()) {
      const row = rows.get(guid)
      // after two windows a certificate alone has it
      if (row === undefined && interruptions > 0 && this.#unknown.has(guid)) continue
      if (row === undefined && certified.has(firstMs - (firstMs % HOUR_MS))) continue
      const isIn = row?.outcome === "accepted" || row?.outcome === "duplicate"
      if (row === undefined) world.violate(`${guid} is not accounted for`)
      else if (row.outcome === null && (row.attempts < 3 || asked + unanswered + interruptions < 3))
        world.violate(`${guid} has no outcome after ${asked} redeliveries`)
      else if (row.outcome === null && this.#delivered.has(guid) && interruptions === 0)
        world.violate(`${guid} has no outcome although it was answered 200`)
      else if (isIn ? !published.has(guid) : row.outcome !== null && answer !== 400)
        world.violate(`${guid} counts as ${row.outcome}`)
    }
    this.#checkHour(published)
  }

  #checkHour(published: ReadonlySet<string>): void {
    const { settings, sent } = this.#sender
    if (this.#windowMs < HOUR_MS || settings.aheadMs === 0) return
    const hourMs = Math.floor((BEGINS_MS + settings.aheadMs) / HOUR_MS) * HOUR_MS
    const inHour = [...sent.values()].filter(({ firstMs }) => firstMs >= hourMs && firstMs < hourMs + HOUR_MS)
    const last = this.#certificates.findLast(({ from }) => Date.parse(from) === hourMs)
    const { accepted = 0, duplicate = 0 } = last?.accounted ?? {}
    const known = accepted + duplicate
    const stored = inHour.filter(({ guid }) => published.has(guid)).length
    if (last === undefined) this.trial.world.violate("the hour has no certificate")
    // that of an event that was published may have been lost each time
    else if (
      last.listed !== inHour.length ||
      last.open > 0 ||
      known > stored ||
      known < stored - last.unrecoverable
    )
      this.trial.world.violate(
        `the hour's certificate has ${last.listed} events, ${known} accepted: ${inHour.length} were sent, ${stored} accepted`,
      )
  }
}

export const reconcile: Simulation<StorageScenario> = {
  name: "reconcile",
  scenarioOf: (seed) => scenarioOf("reconcile", seed),
  run: (scenario) => new ReconcileTrial(scenario).trial.run(),
}
