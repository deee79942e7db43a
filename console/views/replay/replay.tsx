import { useState } from "preact/hooks"
import type { ReplayOverview } from "../../api.ts"
import { ReplayForm } from "./replay-form.tsx"
import { ReplayJobs } from "./replay-jobs.tsx"

/** Copies a range of a topic to another one or to a URL, and shows how far it is. A link's query fills the form. */
export function Replay() {
  const [started, setStarted] = useState<ReplayOverview>()
  return (
    <div class="columns">
      <section aria-label="New replay">
        <ReplayForm started={setStarted} />
      </section>
      <section aria-label="Replays">
        <ReplayJobs started={started} />
      </section>
    </div>
  )
}
