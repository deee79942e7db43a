import { Application } from "../runtime/application.ts"
import { verifier } from "../components/verifier.ts"
import { formatEndpoint } from "../config/sections/endpoint.ts"
import type { Plan, PlannedPipeline } from "../runtime/plan/plan.ts"
import { findFamily } from "../verify/presets/providers.ts"

export interface CheckOptions {
  readonly config?: string
  /** Whether ports and locks must be free, too. */
  readonly listen: boolean
  readonly json: boolean
}

/**
 * Checks a configuration file as a start would, and prints what it would run. Nothing is changed.
 *
 * @throws HooklineError with every problem, as a start would
 */
export async function check({ config, listen, json }: CheckOptions): Promise<void> {
  const { plan, problems, error } = await Application.fromFile(config).diagnose({ alone: listen })
  if (json) return printJson(...)
  for (const warning of problems.warnings) console.error(`warning: ${warning}`)
  if (plan === undefined) throw error!
  for (const line of describe(plan)) console.log(line)
  console.log("Configuration OK")
}
