import type { ExtensionState } from "../../admin/extension-state.ts"
import type { Finding } from "../../admin/problems/finding.ts"
import { OwnRecords } from "../../brokers/own-records.ts"
import { rarely } from "../../clock/lasting.ts"
import { reopenConfig } from "../../config/options/reloading.ts"
import { HooklineError } from "../../errors.ts"
import type { Certificate } from "./certificate.ts"
import { isRefusal } from "./listing.ts"
import { LISTINGS } from "./listings.ts"
import { indexed, OutcomeWriter } from "./outcome-index.ts"
import type { Reconciler } from "./reconciler.ts"
import { NO_PASS } from "./reconciliation.ts"
import { SharedReconcile } from "./shared-reconcile.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { Host, HostService, PipelineHost, PipelineJoin } from "../host.ts"
import { OwnedSection } from "../owned-section.ts"
import { rowOf, type ReconcileInfo } from "./info.ts"
import { openReconciler, type ReconcilerParts } from "./open-reconciler.ts"
import { RECONCILE } from "./options.ts"
import { openOutcomes, placeIn, type ReconcilePlace } from "./place.ts"
import type { PlannedReconcile } from "./plan.ts"
import { problemsOf } from "./problems.ts"

/** Opens what reconciles the planned sections, or keeps it; it begins with the commit. Nothing here fails a start or a reload. */
export const open = (planned: readonly PlannedReconcile[], host: Host): Reconciles =>
  new Reconciles(planned.map((it) => openSection(it, host)))

function openSection(planned: PlannedReconcile, host: Host): RunningReconcile {
  const { id, values, provider, pipeline } = planned
  const place = placeIn(planned, host)
  return host.acquire({
    name: `reconcile ${id}`,
    config: [reopenConfig(RECONCILE, values), provider, pipeline.source.values, place],
    open: () => {
      const its = host.log.child({ pipeline: pipeline.id, reconcile: id })
      const running = new RunningReconcile(planned, place, host.service, its)
      host.onCommit(() => running.start())
      return running
    },
    close: (it) => it.close(),
  })
}

/** Indexes the outcomes of a pipeline whose sender does not list what it was answered. */
export function joins(
  all: readonly PlannedReconcile[],
  pipeline: string,
  host: PipelineHost,
): PipelineJoin | undefined {
  const planned = all.find(
    (it) => it.pipeline.id === pipeline && LISTINGS[it.provider]!.item.got === undefined,
  )
  if (planned === undefined) return undefined
  const { id, values, provider } = planned
  const place = placeIn(planned, host)
  const failed = rarely(60_000, (times) =>
    host.log.error({ reconcile: id, times }, "outcomes could not be written to the index"),
  )
  return {
    config: place,
    wrap(handler) {
      const writer = host.acquire({
        name: `outcome index ${id}`,
        config: [place, values.window],
        open: () => new OutcomeWriter(openOutcomes(planned, place), 2 * values.window, failed),
        close: (it) => it.close(),
      })
      return indexed(handler, LISTINGS[provider]!.item.event, writer)
    },
  }
}

/** The sections that run. */
export class Reconciles implements ExtensionState {
  readonly #all: readonly RunningReconcile[]

  constructor(all: readonly RunningReconcile[]) {
    this.#all = all
  }

  infos(): ReconcileInfo[] {
    return this.#all.map((it) => it.info())
  }

  *problems(): Iterable<Finding> {
    for (const it of this.infos()) yield* problemsOf(it)
  }

  rows() {
    return this.infos().map(rowOf)
  }
}

/** A `[reconcile:<id>]` section. One process of the service runs it: the writer lock of its ledger and the lease in Redis see to that. */
export class RunningReconcile extends OwnedSection {
  readonly #planned: PlannedReconcile
  readonly #place: ReconcilePlace
  readonly #service: HostService
  readonly #shared: SharedReconcile | undefined
  #reconciler: Reconciler | undefined

  constructor(planned: PlannedReconcile, place: ReconcilePlace, service: HostService, log: Logger) {
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

  #target(): ReconcilerParts["target"] {
    const { values, pipeline } = this.#planned
    return {
      problem: async () => {
        const { state, pipelines } = this.#service.readiness()
        const found = new Map(pipelines).get(pipeline.id)
        return state === "ready" || state === "partly ready" ? found : (found ?? `the service is ${state}`)
      },
      inject: values.inject === "true" ? (body) => this.#inject(body) : undefined,
    }
  }

  async #inject(body: string): Promise<string | undefined> {
    const status = await this.#service.inject(this.#planned.pipeline.id, body)
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
