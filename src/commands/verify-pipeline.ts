import type { Verification } from "../verify/verification.ts"
import { loadForCommand } from "../runtime/load-for-command.ts"
import { verificationsOf } from "../runtime/explain-request.ts"
import { planPipeline } from "../runtime/plan/plan-part.ts"
import type { PlannedPipeline } from "../runtime/plan/plan.ts"
import { providerOf, readSettings, usage, type VerifierFlags } from "./verifier-flags.ts"

/** @throws HooklineError `usage` for an unknown id, `config`, `no_input` */
export function readPipeline(file: string | undefined, id: string): PlannedPipeline {
  return planPipeline(loadForCommand(file), id)
}

/**
 * How a pipeline verifies, with the flags that are given next to it in place of its options. The variable HOOKLINE_SECRET
 * is none of them.
 *
 * @throws HooklineError `usage` where it verifies nobody
 */
export function verificationsWith(pipeline: PlannedPipeline, flags: VerifierFlags): readonly Verification[] {
  const provider = flags.provider === undefined ? undefined : providerOf(flags)
  const settings = readSettings(flags, {})
  const own = verificationsOf(pipeline)
  if (own.length === 0 && provider === undefined)
    throw usage(
      `pipeline ${pipeline.id} has no Verifier: it does not check who sends; name the sender with --provider`,
    )
  if (own.length === 0) return [{ provider: provider!, settings }]
  return own.map((it) => ({ provider: provider ?? it.provider, settings: { ...it.settings, ...settings } }))
}
