import { Application } from "../runtime/application.ts"
import { verifier } from "../components/verifier.ts"
import type { PlannedPipeline } from "../runtime/plan/plan.ts"
import { findFamily, nameOf, type ProviderRef } from "../verify/presets/providers.ts"

/** Checks a configuration file and prints its pipelines. Nothing is opened. */
export function check(file: string | undefined): void {
  const plan = Application.fromFile(file).plan()
  for (const pipeline of plan.pipelines) {
    const { host, port, path } = pipeline.source.values as { host: string; port: number; path: string }
    const { topic } = pipeline.sink.values as { topic: string }
    console.log(`${pipeline.id}: ${host}:${port}${path} -> topic ${topic}; ${describeVerification(pipeline)}`)
  }
  for (const warning of plan.warnings) console.error(`warning: ${warning}`)
  console.log("Configuration OK")
}

/** How senders are verified: `verification: stripe (hmac), mode enforce`. */
function describeVerification({ source, processors }: PlannedPipeline): string {
  const checks: string[] = []
  if (source.values.tls_client_ca !== undefined) checks.push("client certificates")
  for (const processor of processors) {
    if (typeof processor === "function" || processor.component.title !== verifier.title) continue
    const { provider, mode } = processor.values as { provider: ProviderRef; mode: string }
    const { family } = findFamily(provider)!
    const name = nameOf(provider)
    checks.push(`${name}${family === name ? "" : ` (${family})`}, mode ${mode}`)
  }
  return `verification: ${checks.length === 0 ? "none" : checks.join("; ")}`
}
