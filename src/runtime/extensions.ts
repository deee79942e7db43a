import type { ExtensionState, Service } from "../admin/service.ts"
import type { OpenExtension } from "../extensions/define-extension.ts"
import { extensions } from "../extensions/registry.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Plan } from "./plan/plan.ts"
import type { Transaction } from "./resources.ts"

/** The extensions that run, by their names. */
export type RunningExtensions = ReadonlyMap<string, ExtensionState>

/** An extension that the plan asks for, loaded and not open yet. */
interface Prepared {
  readonly name: string
  readonly open: OpenExtension
}

/** Loads the extensions that the plan asks something of. */
export async function prepareExtensions(plan: Plan): Promise<readonly Prepared[]> {
  const all = await Promise.all(
    extensions.map(async ({ name, prepare }) => ({ name, open: await prepare(plan) })),
  )
  return all.flatMap(({ name, open }) => (open === undefined ? [] : [{ name, open }]))
}

/** Opens them in the transaction, with whose commit they begin. */
export function openExtensions(
  prepared: readonly Prepared[],
  transaction: Transaction,
  { service, log }: { readonly service: Pick<Service, "activity">; readonly log: Logger },
): RunningExtensions {
  const host = {
    log,
    acquire: transaction.acquire.bind(transaction),
    onCommit: transaction.onCommit.bind(transaction),
    activity: () => service.activity(),
  }
  return new Map(prepared.map(({ name, open }) => [name, open(host)]))
}
