import { inject } from "../admin/api/submit.ts"
import type { ExtensionState } from "../admin/extension-state.ts"
import type { Sampler } from "../admin/sampler.ts"
import type { ServiceStore } from "../admin/store/service-store.ts"
import type { Service } from "../admin/service.ts"
import type { Running } from "../extensions/define-extension.ts"
import type { PipelineHost, PipelineJoin } from "../extensions/host.ts"
import { extensions } from "../extensions/registry.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Plan } from "./plan/plan.ts"
import type { PlanTransaction } from "./plan-transaction.ts"

/** The extensions that run, by their names. */
export type RunningExtensions = ReadonlyMap<string, ExtensionState>

/** An extension that the plan asks for, loaded and not open yet. */
export interface PreparedExtension {
  readonly name: string
  readonly planned: readonly unknown[]
  readonly module: Running
}

interface Opening {
  readonly plan: Pick<Plan, "baseDir" | "connections">
  readonly transaction: Pick<PlanTransaction, "acquire" | "onCommit">
  readonly log: Logger
}

/** Loads the extensions that the plan asks something of. */
export async function prepareExtensions(plan: Plan): Promise<readonly PreparedExtension[]> {
  const asked = extensions.filter(({ name }) => plan.extensions.get(name)!.planned.length > 0)
  return Promise.all(
    asked.map(async ({ name, load }) => ({
      name,
      planned: plan.extensions.get(name)!.planned,
      module: await load(),
    })),
  )
}

/** The places in a pipeline that extensions ask for. */
export function joinsOf(
  pipeline: string,
  opening: Opening & { readonly extensions: readonly PreparedExtension[] },
): readonly PipelineJoin[] {
  const host = pipelineHost(opening)
  return opening.extensions.flatMap(({ planned, module }) => module.joins?.(planned, pipeline, host) ?? [])
}

/** Opens them in the transaction, with whose commit they begin. */
export function openExtensions(
  prepared: readonly PreparedExtension[],
  { service, sampler }: { readonly service: Service; readonly sampler: Sampler },
  opening: Opening & { readonly store: ServiceStore },
): RunningExtensions {
  const { transaction } = opening
  const host = {
    ...pipelineHost(opening),
    onCommit: transaction.onCommit.bind(transaction),
    store: opening.store,
    service: {
      activity: service.activity,
      readiness: service.readiness,
      openReader: service.openReader,
      openBroker: service.openBroker,
      problems: () => sampler.problems.current(),
      inject: (pipeline: string, body: string) => inject(service, pipeline, body),
    },
  }
  return new Map(prepared.map(({ name, planned, module }) => [name, module.open(planned, host)]))
}

const pipelineHost = ({ plan, transaction, log }: Opening): PipelineHost => ({
  baseDir: plan.baseDir,
  connections: plan.connections,
  log,
  acquire: transaction.acquire.bind(transaction),
})
