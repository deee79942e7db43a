import type { ProviderSetup } from "../../api.ts"

/** What a pipeline that exists lacks to verify a provider: its Verifier, and the public URL where that is signed. */
export function linesFor(pipeline: string, { provider, configuration }: ProviderSetup): string {
  const sections = configuration.trim().split("\n\n")
  const lacking = sections.flatMap((section) => {
    const [head = "", ...lines] = section.split("\n")
    const kept = head.endsWith(":Verifier]") ? lines : lines.filter((it) => it.startsWith("public_url"))
    return kept.length === 0
      ? []
      : [[head.replace(`:${provider}:`, () => `:${pipeline}:`), ...kept].join("\n")]
  })
  return lacking.join("\n\n")
}
