import { Application } from "../application.ts"
import { Verifier } from "../components/verifier.ts"
import type { PlannedPipeline } from "../plan.ts"
import { findFamily } from "../verify/providers.ts"

/** Says whether a configuration file is right, and if it is, what it would run. Nothing is opened. */
export function check(file: string | undefined): void {
  const plan = Application.fromFile(file).plan()
  for (const pipeline of plan.pipelines) {
    const { host, port, path } = pipeline.source.values as { host: string; port: number; path: string }
    const { topic } = pipeline.sink.values as { topic: string }
    console.log(`${pipeline.id}: ${host}:${port}${path} -> topic ${topic}; ${describeVerification(pipeline)}`)
  }
  for (const warning of plan.warnings) console.error(`warning: ${warning}`)
  console.log("The configuration is right.")
}

/** By what senders are verified, without secrets: `verification: stripe (hmac), mode enforce`. */
function describeVerification({ source, processors }: PlannedPipeline): string {
  const ways: string[] = []
  if (source.values.tls_client_ca !== undefined) ways.push("client certificates")
  for (const processor of processors) {
    if (typeof processor === "function" || processor.component.title !== Verifier.title) continue
    const { provider, mode } = processor.values as { provider: string; mode: string }
    const { family } = findFamily(provider)!
    ways.push(`${provider}${family === provider ? "" : ` (${family})`}, mode ${mode}`)
  }
  return `verification: ${ways.length === 0 ? "none" : ways.join("; ")}`
}
