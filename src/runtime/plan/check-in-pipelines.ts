import type { Message } from "../../message.ts"
import type { Steps } from "../../clock/slices.ts"
import { isUnread, senderOf } from "../../components/processor-facts.ts"
import type { ResolvedDraft } from "./resolved-draft.ts"

/** Runs the components' rules that need the rest of their pipeline. */
export function* checkInPipelines({ pipelines, problems }: ResolvedDraft): Steps<void> {
  for (const { source, processors, sink } of pipelines) {
    yield
    if (processors.some(isUnread)) continue
    const sender = senderOf(processors)
    for (const part of [source, ...processors, sink]) {
      if (typeof part !== "object" || part.component.checkInPipeline === undefined) continue
      const warn = (key: string, text: Message): void => problems.warn(part.where(key), text)
      part.component.checkInPipeline({ ...part, warn, sender })
    }
  }
}
