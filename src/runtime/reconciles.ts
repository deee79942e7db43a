import { inject } from "../admin/api/submit.ts"
import type { ReconcileInfo, Service } from "../admin/service.ts"
import type { Connection } from "../brokers/define-connection.ts"
import { OwnRecords } from "../brokers/own-records.ts"
import { storeOf } from "../components/processor-facts.ts"
import { isReachedAt } from "../components/webhook-source/reached-at.ts"
import { reopenConfig } from "../config/options/reloading.ts"
import { RECONCILE } from "../config/sections/reconcile.ts"
import { parseRedisUrl } from "../addresses/redis-url.ts"
import { HooklineError } from "../errors.ts"
import type { Certificate } from "../reconcile/certificate.ts"
import { Ledger, ledgerIn } from "../reconcile/ledger-database.ts"
import { isRefusal } from "../reconcile/listing.ts"
import { LISTINGS } from "../reconcile/listings.ts"
import { OutcomeFolder, type OutcomeStore } from "../reconcile/outcome-index.ts"
import { Reconciler } from "../reconcile/reconciler.ts"
import { NO_PASS, type Reconciliation, type Target } from "../reconcile/reconciliation.ts"
import { SenderApi } from "../reconcile/sender-api.ts"
import { SharedReconcile, type SharedPlace } from "../reconcile/shared-reconcile.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Plan, PlannedReconcile } from "./plan/plan.ts"
import { OwnedSection, sectionFolder } from "../extensions/owned-section.ts"
import type { Transaction } from "./resources.ts"

/** Opens what reconciles the plan's pipelines, or keeps it; it begins with the commit. Nothing here fails a start or a reload. */
export function acquireReconciles(
  plan: Plan,
  transaction: Transaction,
  service: Service,
  log: Logger,
): readonly RunningReconcile[] {
  return plan.reconciles.map((planned) => {
    const { id, values, provider, pipeline } = planned
    const place = placeIn(planned, plan)
    return transaction.acquire({
      name: `reconcile ${id}`,
      config: [reopenConfig(RECONCILE, values), provider, pipeline.source.values, place],
      open: () => {
        const its = log.child({ pipeline: pipeline.id, reconcile: id })
        const running = new RunningReconcile(planned, place, service, its)
        transaction.onCommit(() => running.start())
        return running
      },
      close: (it) => it.close(),
    })
  })
}

/** Where a section keeps its files and shared state, and where it publishes its certificates. */
export interface ReconcilePlace {
  readonly connection: string
  readonly folder: string
  /** undefined: the pipeline has no store that replicas share. */
  readonly shared: SharedPlace | undefined
}

interface Configured {
  readonly baseDir: string
  /** By id; the first serves sinks that name none. */
  readonly connections: { keys(): Iterable<string>; get(id: string): Connection | undefined }
}

export function placeIn(
  { id, values, pipeline, provider }: PlannedReconcile,
  { baseDir, connections }: Configured,
): ReconcilePlace {
  const { connection = [...connections.keys()][0] ?? "" } = pipeline.sink.values as { connection?: string }
  const folder = values.directory ?? sectionFolder(connections.get(connection), baseDir)
  const { store = "", ca } = storeOf(pipeline.processors) ?? {}
  const name = parseRedisUrl(store)?.name
  if (name === undefined) return { connection, folder, shared: undefined }
  // services that share a Redis may have sections of one id
  const which = [provider, values.api, values.endpoint, pipeline.id, pipeline.source.values["path"]]
  const reconcile = `${id}:${Bun.hash(JSON.stringify(which)).toString(36)}`
  return { connection, folder, shared: { url: store, name, ca, reconcile } }
}

/** Where the outcomes of a section's events are, for a sender whose list does not say what it got. */
export function openOutcomes({ id }: PlannedReconcile, { folder, shared }: ReconcilePlace): OutcomeStore {
  return shared === undefined ? new OutcomeFolder(folder, id) : new SharedReconcile(shared)
}

type Surroundings = Pick<Reconciliation, "certified" | "openLog" | "signal"> & {
  readonly log: Logger
  readonly target: Pick<Target, "problem" | "inject">
  /** undefined: there are no replicas, or nothing is to be kept. */
  readonly held: SharedReconcile | undefined
  readonly ledgerFolder: string
}

/** Opens what compares a section. @throws HooklineError `log_locked`, `log_io` */
export function openReconciler(
  planned: PlannedReconcile,
  place: ReconcilePlace,
  { target, held, ledgerFolder, ...more }: Surroundings,
): Reconciler {
  const { id, values, pipeline, provider } = planned
  const listing = LISTINGS[provider]!
  return new Reconciler({
    ...more,
    id,
    provider,
    api: new SenderApi(listing, values, more.signal),
    ledger: new Ledger(ledgerIn(ledgerFolder, id), more.log),
    index: listing.item.got === undefined ? (held ?? openOutcomes(planned, place)) : undefined,
    shared: held,
    target: {
      ...target,
      isAt: (url) => URL.canParse(url) && isReachedAt(pipeline.source.values, new URL(url)),
    },
    windowMs: values.window,
    everyMs: values.every,
  })
}

/** A `[reconcile:<id>]` section. One process of the service runs it: the writer lock of its ledger and the lease in Redis see to that. */
export class RunningReconcile extends OwnedSection {
  readonly #planned: PlannedReconcile
  readonly #place: ReconcilePlace
  readonly #service: Service
  readonly #shared: SharedReconcile | undefined
  #reconciler: Reconciler | undefined

  constructor(planned: PlannedReconcile, place: ReconcilePlace, service: Service, log: Logger) {
    super(log, "can't start reconciling; retrying every 2 s")
    this.#shared = place.shared && new SharedReconcile(place.shared)
    this.#planned = planned
    this.#place = place
    this.#service = service
  }

  info(): ReconcileInfo {
    const { id, provider, pipeline } = this.#planned
    const state = this.#reconciler?.state ?? NO_PASS
    const problem = this.problem ?? state.problem
    return { ...state, problem, id, pipeline: pipeline.id, provider, isElsewhere: this.isElsewhere }
  }

  override async close(): Promise<void> {
    await super.close()
    await this.#shared?.[Symbol.asyncDispose]()
  }

  protected async run(): Promise<void> {
    const lease = await this.#shared?.hold()
    try {
      await this.#reconcile(lease === undefined ? this.signal : AbortSignal.any([this.signal, lease]))
    } finally {
      await this.#shared?.release()
    }
    lease?.throwIfAborted()
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    const reconciler = openReconciler(this.#planned, this.#place, {
      held: this.#shared,
      ledgerFolder: this.#place.folder,
      target: this.#target(),
      openLog: () => this.#service.openReader(this.#place.connection),
      certified: (certificate) => this.#publish(certificate),
      log: this.log,
      signal,
    })
    this.#reconciler = reconciler
    this.runs()
    try {
      await reconciler.run()
    } finally {
      this.#reconciler = undefined
      await reconciler.close()
    }
  }

  #target(): Surroundings["target"] {
    const { values, pipeline } = this.#planned
    return {
      problem: async () => {
        const { state, pipelines } = await this.#service.readiness()
        const found = new Map(pipelines).get(pipeline.id)
        return state === "ready" || state === "partly ready" ? found : (found ?? `the service is ${state}`)
      },
      inject: values.inject === "true" ? (body) => this.#inject(body) : undefined,
    }
  }

  async #inject(body: string): Promise<string | undefined> {
    const status = await inject(this.#service, this.#planned.pipeline.id, body)
    if (status === 503) throw new HooklineError("unavailable", "the pipeline answered 503")
    if (status < 300) return "accepted"
    return isRefusal(status) ? `refused ${status}` : undefined
  }

  /** @throws HooklineError, PublishError: the next pass tries again */
  async #publish(certificate: Certificate): Promise<void> {
    const { id, values, pipeline, provider } = this.#planned
    const { certificate_topic: topic } = values
    if (topic === undefined) return
    await using records = new OwnRecords(() => this.#service.openBroker(this.#place.connection))
    const value = { reconcile: id, pipeline: pipeline.id, provider, ...certificate }
    await records.publish({ topic, key: Buffer.from(id), value: Buffer.from(JSON.stringify(value)) })
  }
}
