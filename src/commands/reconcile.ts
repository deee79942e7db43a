import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import pino from "pino"
import { atOnce } from "../clock/slices.ts"
import { loadConfiguration } from "../config/file/load.ts"
import { toRecord, type Certificate } from "../reconcile/certificate.ts"
import { Ledger } from "../reconcile/ledger.ts"
import { ledgerIn } from "../reconcile/ledger-database.ts"
import { LISTINGS } from "../reconcile/listings.ts"
import { indexFolderIn, OutcomeIndex } from "../reconcile/outcome-index.ts"
import { Reconciler } from "../reconcile/reconciler.ts"
import { SenderApi } from "../reconcile/sender-api.ts"
import { Application } from "../runtime/application.ts"
import { planReconcile } from "../runtime/plan/plan-part.ts"
import type { PlannedReconcile } from "../runtime/plan/plan.ts"
import { isPipelineAt, reconcileFolder } from "../runtime/reconciles.ts"
import { escapeLine } from "../telemetry/escape-controls.ts"
import { Interruption } from "./interruption.ts"

export interface ReconcileFlags {
  readonly config?: string
  readonly since?: number
  readonly dryRun?: true
  readonly enable?: true
  readonly json?: true
}

/** Compares once. @throws HooklineError `config`, `usage`, `no_input`, `log_locked`, `log_io`, `unavailable`, `refused` */
export async function reconcile(id: string, flags: ReconcileFlags): Promise<void> {
  const environment = { env: process.env, cwd: process.cwd() }
  const planned = planReconcile(atOnce(loadConfiguration(flags.config, environment)), id)
  using interruption = new Interruption()
  const api = new SenderApi(LISTINGS[planned.provider]!, planned.values, interruption.signal)
  if (flags.enable === true) {
    await api.enable()
    console.log(`${api.listing.title}: the endpoint is enabled`)
    return
  }
  const { window, endpoint } = await compare(planned, api, flags, interruption.signal)
  if (flags.json === true)
    console.log(JSON.stringify({ reconcile: id, endpoint: endpoint ?? null, ...toRecord(window) }))
  else for (const line of describe(api.listing.title, window, endpoint)) console.log(escapeLine(line))
  if (window.open + window.unrecoverable > 0) process.exitCode = 1
}

async function compare(
  planned: PlannedReconcile,
  api: SenderApi,
  flags: ReconcileFlags,
  signal: AbortSignal,
) {
  const { id, provider, pipeline, values } = planned
  const log = pino({ level: "warn" }, pino.destination(2))
  await using opened = new AsyncDisposableStack()
  const folder =
    flags.dryRun === true ? mkdtempSync(join(tmpdir(), "hookline-")) : folderOf(planned, flags.config)
  if (flags.dryRun === true) opened.defer(() => rmSync(folder, { recursive: true }))
  const ledger = opened.adopt(new Ledger(ledgerIn(folder, id), log), (it) => it.close())
  const reconciler = new Reconciler({
    id,
    pipeline: pipeline.id,
    provider,
    api,
    ledger,
    index:
      api.listing.item.got === undefined
        ? new OutcomeIndex(indexFolderIn(folderOf(planned, flags.config), id))
        : undefined,
    // what it accepts, it shows by its answers; only the service can inject
    target: { problem: async () => undefined, inject: undefined, isAt: (url) => isPipelineAt(pipeline, url) },
    windowMs: values.window,
    everyMs: values.every,
    certified: async () => {},
    log,
    signal,
  })
  const window = await reconciler.pass({ sinceMs: flags.since, isDryRun: flags.dryRun === true })
  return { window, endpoint: reconciler.state.endpoint }
}

function folderOf(planned: PlannedReconcile, config: string | undefined): string {
  const app = Application.fromFile(config)
  const [file] = app.inputs.keys()
  const { connection = app.connectionIds()[0] } = planned.pipeline.sink.values as { connection?: string }
  return reconcileFolder(
    planned,
    connection === undefined ? undefined : app.connection(connection),
    dirname(file!),
  )
}

function* describe(title: string, it: Certificate, endpoint: string | undefined): Iterable<string> {
  const { from, to, accounted, ids } = toRecord(it)
  const outcomes = Object.entries(accounted).map(([outcome, count]) => `${count} ${outcome}`)
  const all = [...outcomes, ...(it.pending > 0 ? [`${it.pending} still being tried by the sender`] : [])]
  yield `${title} lists ${it.listed} events from ${from} to ${to}: ${all.join(", ") || "none has ended here"}`
  if (it.missing > 0) {
    const parts = [`${it.recovered} recovered`, `${it.open} open`, `${it.unrecoverable} unrecoverable`]
    yield `${it.missing} were missing: ${parts.filter((part) => !part.startsWith("0 ")).join(", ")}`
  }
  for (const id of ids.unrecoverable) yield `unrecoverable: ${id}`
  if (endpoint !== undefined) yield endpoint
}
