import { encodeEvent, type EventStream, type EventStreams } from "./event-stream.ts"
import { overviewOf, type OverviewDeps } from "./overview.ts"
import { route, type Route } from "./route.ts"
import { CaptureSummary, Overview, ReplayJob } from "./shapes.ts"

const SECOND_MS = 1000
/** Overviews of thousands of pipelines come less often: making them takes at most a twentieth of the time. */
const MOST_SHARE = 20

interface LiveDeps extends OverviewDeps {
  readonly streams: EventStreams
  readonly failed: (error: unknown) => void
}

/** Sends the same overviews to all who look, made once each second. */
export class Live {
  readonly #deps: LiveDeps
  readonly #watching = new Set<EventStream>()
  #timer: Timer | undefined

  constructor(deps: LiveDeps) {
    this.#deps = deps
  }

  readonly route: Route = route({
    method: "GET",
    path: "/api/live",
    summary: "Overviews each second, and captured requests and replay jobs as they change.",
    events: { overview: Overview, capture: CaptureSummary, replay: ReplayJob },
    answer: ({ request, connection }) =>
      this.#deps.streams.answer(request, connection, (stream) => this.#add(stream)),
  })

  #add(stream: EventStream): void {
    this.#watching.add(stream)
    stream.ended.addEventListener("abort", () => this.#remove(stream), { once: true })
    clearTimeout(this.#timer)
    void this.#send()
  }

  #remove(stream: EventStream): void {
    this.#watching.delete(stream)
    if (this.#watching.size === 0) clearTimeout(this.#timer)
  }

  async #send(): Promise<void> {
    const startMs = performance.now()
    try {
      const event = encodeEvent("overview", await overviewOf(this.#deps))
      for (const stream of this.#watching) stream.send(event)
    } catch (error) {
      this.#deps.failed(error)
    }
    clearTimeout(this.#timer)
    if (this.#watching.size === 0) return
    const tookMs = performance.now() - startMs
    this.#timer = setTimeout(() => void this.#send(), Math.max(SECOND_MS - tookMs, tookMs * MOST_SHARE))
  }
}
