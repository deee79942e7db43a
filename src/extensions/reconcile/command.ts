import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import pino from "pino"
import { HooklineError } from "../../errors.ts"
import type { Certificate } from "./certificate.ts"
import { LISTINGS } from "./listings.ts"
import { SenderApi } from "./sender-api.ts"
import { SharedReconcile } from "./shared-reconcile.ts"
import { escapeLine } from "../../telemetry/escape-controls.ts"
import type { CommandHost } from "../command-host.ts"
import { openReconciler } from "./open-reconciler.ts"
import { placeIn } from "./place.ts"
import type { PlannedReconcile } from "./plan.ts"

export interface ReconcileFlags {
  readonly config?: string
  readonly since?: number
  readonly dryRun?: true
  readonly enable?: true
  readonly json?: true
}

/** Compares once. @throws HooklineError `config`, `usage`, `no_input`, `log_locked`, `log_io`, `unavailable`, `refused` */
export const reconcile = (
  id: string,
  flags: ReconcileFlags,
  host: CommandHost<PlannedReconcile>,
): Promise<void> => host.untilInterrupted((signal) => compare(id, flags, host, signal))

async function compare(
  id: string,
  flags: ReconcileFlags,
  host: CommandHost<PlannedReconcile>,
  signal: AbortSignal,
): Promise<void> {
  const { planned, ...around } = await host.plan(flags.config, id)
  const listing = LISTINGS[planned.provider]!
  if (flags.enable === true) {
    await new SenderApi(listing, planned.values, signal).enable()
    console.log(`${listing.title}: the endpoint is enabled`)
    return
  }
  const place = placeIn(planned, around)
  await using opened = new AsyncDisposableStack()
  const isDryRun = flags.dryRun === true
  const held =
    isDryRun || place.shared === undefined ? undefined : opened.use(new SharedReconcile(place.shared))
  const lease = await held?.hold()
  const ledgerFolder = isDryRun ? mkdtempSync(join(tmpdir(), "hookline-")) : place.folder
  if (isDryRun) opened.defer(() => rmSync(ledgerFolder, { recursive: true }))
  const reconciler = openReconciler(planned, place, {
    held,
    ledgerFolder,
    // what it accepts, it shows by its answers; only the service can inject
    target: { problem: async () => undefined, inject: undefined },
    openLog: () => around.openReader(place.connection),
    certified: async () => {},
    log: pino({ level: "warn" }, pino.destination(2)).child({ reconcile: id }),
    signal: lease === undefined ? signal : AbortSignal.any([signal, lease]),
  })
  opened.defer(() => reconciler.close())
  const window = await reconciler.pass({ sinceMs: flags.since, isDryRun })
  const { endpoint, problem } = reconciler.state
  if (flags.json === true)
    console.log(JSON.stringify({ reconcile: id, endpoint: endpoint ?? null, ...window }))
  else for (const line of describe(listing.title, window, endpoint)) console.log(escapeLine(line))
  if (problem !== undefined) throw new HooklineError("unavailable", problem)
  if (window.open + window.unrecoverable > 0) process.exitCode = 1
}

function* describe(title: string, it: Certificate, endpoint: string | undefined): Iterable<string> {
  const { from, to, accounted, ids } = it
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
