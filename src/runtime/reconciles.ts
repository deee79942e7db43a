import { join, resolve } from "node:path"
import type { ReconcileInfo, Service } from "../admin/service.ts"
import type { Connection } from "../brokers/define-connection.ts"
import { pause, steadyMs } from "../clock/clock.ts"
import { reopenConfig } from "../config/options/reloading.ts"
import { RECONCILE } from "../config/sections/reconcile.ts"
import { DEFAULT_FOLDER } from "../dedupe/location.ts"
import { HooklineError } from "../errors.ts"
import { parsePublicUrl } from "../http/public-url.ts"
import { toRecord, type Certificate } from "../reconcile/certificate.ts"
import { Ledger } from "../reconcile/ledger.ts"
import { ledgerIn } from "../reconcile/ledger-database.ts"
import { isRefusal } from "../reconcile/listing.ts"
import { LISTINGS } from "../reconcile/listings.ts"
import { indexFolderIn, OutcomeIndex } from "../reconcile/outcome-index.ts"
import { Reconciler, type Injected, type Target } from "../reconcile/reconciler.ts"
import { SenderApi } from "../reconcile/sender-api.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Plan, PlannedPipeline, PlannedReconcile } from "./plan/plan.ts"
import type { Transaction } from "./resources.ts"

/** How long a certificate's record may take. */
const PUBLISHED_WITHIN_MS = 30_000

/** Opens what reconciles the plan's pipelines, or keeps it; it begins with the commit. Nothing here fails a start or a reload. */
export function acquireReconciles(
  plan: Plan,
  transaction: Transaction,
  service: Service,
  log: Logger,
): readonly RunningReconcile[] {
  return plan.reconciles.map((planned) =>
    transaction.acquire({
      name: `reconcile ${planned.id}`,
      config: [reopenConfig(RECONCILE, planned.values), planned.provider, planned.pipeline.source.values],
      open: () => {
        const running = new RunningReconcile(
          planned,
          plan,
          service,
          log.child({ pipeline: planned.pipeline.id }),
        )
        transaction.onCommit(() => running.start())
        return running
      },
      close: (it) => it.close(),
    }),
  )
}

/** The folder of a section's ledger, and of the index of outcomes. @param connection of the pipeline's sink */
export function reconcileFolder(
  { values }: PlannedReconcile,
  connection: Connection | undefined,
  baseDir: string,
): string {
  const logDirectory = connection?.kind.logFolder?.(connection.values)
  return values.directory ?? resolve(logDirectory ?? join(baseDir, DEFAULT_FOLDER))
}

/** The folder of a section's index of outcomes. */
export const outcomeFolder = (planned: PlannedReconcile, plan: Plan): string =>
  indexFolderIn(folderIn(planned, plan), planned.id)

const folderIn = (planned: PlannedReconcile, plan: Plan): string =>
  reconcileFolder(planned, plan.connections.get(connectionOf(planned, plan)), plan.baseDir)

/** The id of the connection of a section's pipeline. */
function connectionOf({ pipeline }: PlannedReconcile, plan: Plan): string {
  const { connection } = pipeline.sink.values as { connection?: string }
  return connection ?? plan.connections.keys().next().value ?? ""
}

/** Whether a URL's path, and its host where the pipeline has a `public_url`, are the pipeline's. */
export function isPipelineAt({ source }: PlannedPipeline, text: string): boolean {
  const { path, public_url: configured } = source.values as { path: string; public_url?: string }
  const url = URL.parse(text)
  if (url === null) return false
  const fits = path.endsWith("*") ? url.pathname.startsWith(path.slice(0, -1)) : url.pathname === path
  const own = configured === undefined ? undefined : new URL(configured)
  // a proxy may have another path than the pipeline
  if (own === undefined || parsePublicUrl(configured!) === undefined) return fits
  return url.origin === own.origin && (own.pathname === "/" ? fits : url.pathname === own.pathname)
}

/** One `[reconcile:<id>]` section of this service. The writer lock of its ledger lets one process have it. */
export class RunningReconcile {
  readonly #planned: PlannedReconcile
  readonly #plan: Plan
  readonly #service: Service
  readonly #log: Logger
  readonly #stopping = new AbortController()
  #reconciler: Reconciler | undefined
  #problem: string | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(planned: PlannedReconcile, plan: Plan, service: Service, log: Logger) {
    this.#planned = planned
    this.#plan = plan
    this.#service = service
    this.#log = log
  }

  start(): void {
    this.#running = this.#run()
  }

  info(): ReconcileInfo {
    const { id, provider, pipeline } = this.#planned
    const state = this.#reconciler?.state
    return {
      id,
      pipeline: pipeline.id,
      provider,
      completeAtMs: state?.completeAtMs,
      problem: this.#problem ?? state?.problem,
      endpoint: state?.endpoint,
      window: state?.window,
      certificates: state?.certificates ?? [],
    }
  }

  async close(): Promise<void> {
    this.#stopping.abort(new HooklineError("closing", "the application is stopping"))
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    const { id, values } = this.#planned
    const location = ledgerIn(folderIn(this.#planned, this.#plan), id)
    while (!signal.aborted) {
      try {
        const ledger = new Ledger(location, this.#log)
        this.#problem = undefined
        try {
          await this.#open(ledger).run()
        } finally {
          await ledger.close()
        }
      } catch (error) {
        const { message } = error as Error
        // another process of the service has it, or the disk fails
        if (this.#problem !== message)
          this.#log.warn({ reconcile: id, problem: message }, "does not reconcile now")
        this.#problem = message
      }
      await pause(values.every, signal)
    }
  }

  #open(ledger: Ledger): Reconciler {
    const { id, values, pipeline, provider } = this.#planned
    const { signal } = this.#stopping
    const listing = LISTINGS[provider]!
    return (this.#reconciler = new Reconciler({
      id,
      pipeline: pipeline.id,
      provider,
      api: new SenderApi(listing, values, signal),
      ledger,
      index:
        listing.item.got === undefined
          ? new OutcomeIndex(outcomeFolder(this.#planned, this.#plan))
          : undefined,
      target: this.#target(),
      windowMs: values.window,
      everyMs: values.every,
      certified: (certificate) => this.#publish(certificate),
      log: this.#log,
      signal,
    }))
  }

  #target(): Target {
    const { values, pipeline } = this.#planned
    return {
      problem: async () => {
        const { state, pipelines } = await this.#service.readiness()
        const found = new Map(pipelines).get(pipeline.id)
        return state === "ready" || state === "partly ready" ? found : (found ?? `the service is ${state}`)
      },
      inject: values.inject === "true" ? (body) => this.#inject(body) : undefined,
      isAt: (url) => isPipelineAt(pipeline, url),
    }
  }

  async #inject(body: string): Promise<Injected> {
    const { pipeline } = this.#planned
    const [receiver] = this.#service.receivers()
    const result = await receiver?.submit({
      pipeline: pipeline.id,
      submission: {
        method: "POST",
        path: String(pipeline.source.values["path"]).replace(/\*$/, "injected"),
        query: "",
        headers: [["content-type", "application/json"]],
        body: Buffer.from(body),
        peerAddress: undefined,
        firstCameAtMs: undefined,
        isOwn: true,
        isInjected: true,
      },
    })
    const status = result?.status ?? 503
    const reason = `answered ${status}`
    if (status < 300) return { outcome: "accepted", reason }
    return { outcome: isRefusal(status) ? `refused ${status}` : undefined, reason }
  }

  /** @throws HooklineError, PublishError: the next pass tries again */
  async #publish(certificate: Certificate): Promise<void> {
    const { id, values, pipeline, provider } = this.#planned
    const { certificate_topic: topic } = values
    if (topic === undefined) return
    await using opened = new AsyncDisposableStack()
    const broker = opened.adopt(
      await this.#service.openBroker(connectionOf(this.#planned, this.#plan)),
      (it) => it.close(),
    )
    broker.prepare([topic])
    const value = { reconcile: id, pipeline: pipeline.id, provider, ...toRecord(certificate) }
    await broker.publish(
      { topic, key: Buffer.from(id), value: Buffer.from(JSON.stringify(value)) },
      steadyMs() + PUBLISHED_WITHIN_MS,
    )
  }
}
