import { effect, signal } from "@preact/signals"
import { askCaller, sessions } from "./api-client.ts"
import type { CaptureSummary, Overview, ReplayOverview } from "./api.ts"
import { readEvents, type StreamState } from "./event-stream.ts"

/** What the service says of itself, each second; undefined: it has not yet. */
export const overview = signal<Overview | undefined>(undefined)
export const streamState = signal<StreamState>("connecting")
/** The browser's time at which the service was last heard from, heartbeats included. */
export const heardAt = signal(Date.now())
/** The newest capture; views that list captures put it on top. */
export const newestCapture = signal<CaptureSummary | undefined>(undefined)
/** The replay job that changed last. */
export const changedReplay = signal<ReplayOverview | undefined>(undefined)
/** Milliseconds that the service's clock is ahead of the browser's. */
export const clockSkewMs = signal(0)

/** Reads `/api/live` as long as the page is open; begins again after a sign-in. */
export function followOverview(): void {
  effect(() => {
    void sessions.value
    void askCaller()
    const leaving = new AbortController()
    const handlers = {
      event: take,
      state: (it: StreamState) => (streamState.value = it),
      heard: () => (heardAt.value = Date.now()),
    }
    void readEvents("/api/live", handlers, leaving.signal)
    return () => leaving.abort()
  })
}

function take(name: string, data: unknown): void {
  if (name === "overview") {
    overview.value = data as Overview
    clockSkewMs.value = overview.value.now - Date.now()
  } else if (name === "capture") newestCapture.value = data as CaptureSummary
  else if (name === "replay") changedReplay.value = data as ReplayOverview
}

/** The service's clock, in whole seconds' steps. */
export const now = signal(Date.now())

setInterval(() => {
  if (!document.hidden) now.value = Date.now() + clockSkewMs.peek()
}, 1000)

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
