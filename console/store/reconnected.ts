import { effect } from "@preact/signals"
import { streamState } from "./live.ts"

/** Calls back each time that the live stream has reconnected: what happened meanwhile was not sent. Returns what ends that. */
export function onReconnected(call: () => void): () => void {
  let isLost = false
  return effect(() => {
    const state = streamState.value
    if (state === "lost") isLost = true
    if (state !== "open" || !isLost) return
    isLost = false
    call()
  })
}
