import { Database } from "bun:sqlite"
import { Trial } from "./trial.ts"
import { HooklineError } from "../../../src/errors.ts"
import { HOUR_MS, type Certificate } from "../../../src/reconcile/certificate.ts"
import { ledgerIn } from "../../../src/reconcile/ledger-database.ts"
import { Ledger } from "../../../src/reconcile/ledger.ts"
import { LISTINGS } from "../../../src/reconcile/listings.ts"
import { Reconciler } from "../../../src/reconcile/reconciler.ts"
import { SenderApi } from "../../../src/reconcile/sender-api.ts"
import type { Outcome, Simulation } from "../simulation.ts"
import { BEGINS_MS } from "../simulated-process.ts"
import { simulatedLog } from "./log.ts"
import { RemoteLog } from "./remote-log.ts"
import { scenarioOf, type StorageScenario } from "./scenario.ts"
import { Sender } from "./sender.ts"

/** GitHub's row, a thousand times as quick. */
const LATENCY_MS = 60
const LISTING = { ...LISTINGS["github"]!, latencyMs: LATENCY_MS, perHour: 3_600_000_000 }
const QUICK = {
  ...LISTING,
  redeliver: { ...LISTING.redeliver!, perMinute: 60_000 },
}
const PAUSES = { first: 5, longest: 40 }

interface Running {
  readonly reconciler: Reconciler
  readonly close: () => Promise<void>
}

/** A sender whose events a pipeline accepts, refuses, or can't publish now, and what reconciles them; all of it fails. */
function run(scenario: StorageScenario): Outcome {
  const certificates: Certificate[] = []
  /** Crashes and failures of the disk: each may keep an attempt that was not made from being taken back. */
  let interruptions = 0
  /** Events from before the first pass, if a disk failed then: nothing says from when to list. */
  const unknown = new Set<string>()
  let wasComplete = false
  /** Whether it was seen, before an event is asked for, that the pipeline accepts events. */
  let mayAsk = false
  let lastAsked = ""
  let wellWindow: Certificate | undefined
  const trial = new Trial<Running>(scenario, ({ world }) => ({
    open({ disk: { folder } }) {
      const process = world.current!
      const log = simulatedLog(world, folder)
      const stopping = new AbortController()
      const access = { credentials: "obviously-fake", endpoint: "repos/a/b/hooks/7" }
      const failed = (...line: [object, string]): void => {
        interruptions++
        log.error(...line)
      }
      const ledger = new Ledger(ledgerIn(folder, "github"), { ...log, error: failed } as typeof log)
      const reconciler = new Reconciler({
        id: "github",
        provider: "github",
        api: new SenderApi(QUICK, access, stopping.signal, {
          pauses: PAUSES,
          fetch: sender.fetchIn(process) as never,
        }),
        ledger,
        index: undefined,
        shared: undefined,
        target: {
          inject: undefined,
          isAt: () => true,
          problem: async () => {
            mayAsk = remote.state === "up"
            return mayAsk ? undefined : "the broker is down"
          },
        },
        windowMs: random.windowMs,
        everyMs: 100,
        certified: async (certificate) => {
          if (remote.state !== "up") throw new HooklineError("unavailable", "the broker is down")
          if (certificate.open > 0) world.violate("an hour is certified that has events left to ask for")
          certificates.push(certificate)
        },
        log,
        signal: stopping.signal,
      })
      const running = reconciler.run()
      const close = async (): Promise<void> => {
        stopping.abort(new HooklineError("closing", "stopping"))
        await running
        await reconciler.close()
      }
      return { reconciler, close }
    },
    ready: ({ reconciler }) => reconciler.state.problem ?? true,
    close: (service) => service.close(),
    publish: ({ key, bytes }) => sender.send(bytes === 100 ? 500 : key === 2 ? 400 : undefined),
    ended: () => {
      interruptions++
    },
    remote(state) {
      remote.set(state)
      sender.isDown = state.state === "silent"
    },
    heal() {
      remote.set({ state: "up", lostAnswers: 0 })
      sender.isWell = true
    },
    tryOut(succeeded, done) {
      const { window, problem } = trial.service?.reconciler.state ?? {}
      wellWindow ??= window
      if (window !== wellWindow && window?.open === 0 && problem === undefined) succeeded()
      world.after(0, done)
    },
    recoveryMs: 4000,
    check() {},
    checkHealed: () => check(),
  }))
  const { world, machine } = trial
  const pick = trial.random
  const random = { windowMs: pick.pick([300, 2 * HOUR_MS]) }
  const remote = new RemoteLog(world)
  const sender = new Sender(world, {
    // an hour of the sender's ends in the middle, or none does
    aheadMs: pick.pick([0, HOUR_MS - 1500, -HOUR_MS - 1500]),
    pageSize: pick.pick([5, 20, 100]),
    failing: pick.pick([0, 5, 30]),
    forbidden: pick.pick([0, 0, 50]),
    lateListings: pick.pick([0, 20]),
    latencyMs: LATENCY_MS,
  })
  sender.deliver = (event) => {
    const { process } = machine
    wasComplete ||= trial.service?.reconciler.state.completeAtMs !== undefined
    if (!wasComplete) unknown.add(event.guid)
    if (process?.isAlive !== true || trial.service === undefined || process.stalledUntilMs > world.nowMs)
      return 0
    if (event.answer !== undefined) return event.answer
    if (remote.state !== "up") return 503
    event.isPublished = true
    return remote.losesAnswer() ? 0 : 200
  }
  sender.asked = ({ guid, asked, askedAtMs }) => {
    if (!mayAsk && guid !== lastAsked) world.violate(`${guid} is asked for without a look at the pipeline`)
    if (asked >= 3) world.violate(`${guid} is asked for ${asked + 1} times`)
    if (world.nowMs - askedAtMs < LATENCY_MS / 3) world.violate(`${guid} is asked for twice at once`)
    mayAsk = false
    lastAsked = guid
  }

  /** Each event is accounted for by its outcome, in the ledger and in the certificate of its hour. */
  const check = (): void => {
    using db = new Database(ledgerIn(machine.disk.folder, "github").file)
    const rows = new Map(
      db
        .query<{ id: string; outcome: string | null; attempts: number }, []>("SELECT * FROM events")
        .all()
        .map((row) => [row.id, row]),
    )
    const certified = new Set(certificates.map(({ from }) => Date.parse(from)))
    for (const { guid, firstMs, isPublished, answer, asked, unanswered } of sender.sent.values()) {
      const row = rows.get(guid)
      // after two windows a certificate alone has it
      if (row === undefined && interruptions > 0 && unknown.has(guid)) continue
      if (row === undefined && certified.has(firstMs - (firstMs % HOUR_MS))) continue
      if (row === undefined) world.violate(`${guid} is not accounted for`)
      else if (row.outcome === null && (row.attempts < 3 || asked + unanswered + interruptions < 3))
        world.violate(`${guid} has no outcome after ${asked} redeliveries`)
      else if (row.outcome === "accepted" ? !isPublished : row.outcome !== null && answer !== 400)
        world.violate(`${guid} counts as ${row.outcome}`)
    }
    if (random.windowMs < HOUR_MS || sender.settings.aheadMs === 0) return
    const hourMs = Math.floor((BEGINS_MS + sender.settings.aheadMs) / HOUR_MS) * HOUR_MS
    const inHour = [...sender.sent.values()].filter(
      ({ firstMs }) => firstMs >= hourMs && firstMs < hourMs + HOUR_MS,
    )
    const last = certificates.filter(({ from }) => Date.parse(from) === hourMs).at(-1)
    const { accepted = 0 } = last?.accounted ?? {}
    const published = inHour.filter(({ isPublished }) => isPublished).length
    if (last === undefined) world.violate("the hour has no certificate")
    else if (last.listed !== inHour.length || last.open > 0 || accepted !== published)
      world.violate(
        `the hour's certificate has ${last.listed} events, ${accepted} accepted: ${inHour.length} were sent, ${published} accepted`,
      )
  }

  return trial.run()
}

export const reconcile: Simulation<StorageScenario> = {
  name: "reconcile",
  scenarioOf: (seed) => scenarioOf("reconcile", seed),
  run,
}
