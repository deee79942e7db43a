import { signal } from "@preact/signals"
import { clockSkewMs } from "./live.ts"

/** The service's clock, in whole seconds' steps. */
export const now = signal(Date.now())

setInterval(() => {
  if (!document.hidden) now.value = Date.now() + clockSkewMs.peek()
}, 1000)
