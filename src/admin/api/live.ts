import { pause } from "../../clock/clock.ts"
import type { CaptureQuery } from "../captured.ts"
import type { Service } from "../service.ts"
import { newest, pathOf } from "./captures.ts"
import { encodeEvent, type EventStream, type EventStreams } from "./event-stream.ts"
import type { Overview } from "./overview-shape.ts"
import { overviewOf, rowsOf, type OverviewDeps } from "./overview.ts"
import { replaysOf } from "./replays.ts"
import { route, type ApiRoute } from "./route.ts"
import type { Shape } from "./shape.ts"
import { CaptureSummary, ReplayOverview } from "./shapes.ts"

const OVERVIEW_MS = 1000
/** Overviews of thousands of pipelines come less often: making them takes at most a twentieth of the time. */
const MOST_SHARE = 20
/** Pause between two polls of captured requests and of replays, in milliseconds; other replicas' replays are in their overviews. */
const CHANGES_MS = 500
/** The other replicas are asked in every second poll only: a page may be a second behind them. */
const OTHERS_EVERY = 2

export interface LiveDeps extends OverviewDeps {
  readonly streams: EventStreams
  readonly failed: (error: unknown) => void
}

/** Sends the same events, made once, to all who watch; makes none while nobody does. */
export class Live {
  readonly route: ApiRoute
  readonly #deps: LiveDeps
  readonly #watching = new Set<EventStream>()
  /** Aborted when nobody watches any more. */
  #watched = new AbortController()

  /** @param shape of the overviews */
  constructor(deps: LiveDeps, shape: Shape<Overview>) {
    this.#deps = deps
    this.route = route("GET /api/live", {
      summary: "Overviews each second, and captured requests and replay jobs as they change.",
      events: { overview: shape, capture: CaptureSummary, replay: ReplayOverview },
      answer: ({ request, connection }) =>
        this.#deps.streams.answer(request, connection, (stream) => this.#add(stream)),
    })
  }

  #add(stream: EventStream): void {
    this.#watching.add(stream)
    stream.ended.addEventListener("abort", () => this.#remove(stream), { once: true })
    if (this.#watching.size > 1) return void this.#overview([stream]).catch(this.#deps.failed)
    this.#watched = new AbortController()
    const { service, replicas } = this.#deps
    // by replica, including this one (undefined), since each has a clock of its own
    const captures = new Map<string | undefined, NewCaptures>()
    const captured = (replica: string | undefined, list: ListCaptures) =>
      captures.getOrInsertComputed(replica, () => new NewCaptures(service)).next(list)
    void this.#repeat(OVERVIEW_MS, MOST_SHARE, () => this.#overview(this.#watching))
    const replays = new Map<string, string>()
    let polls = 0
    void this.#repeat(CHANGES_MS, 1, async () => {
      const answering = polls++ % OTHERS_EVERY === 0 ? replicas.answering() : []
      const elsewhere = rowsOf(replicas.current(), (overview) => overview.replays ?? [])
      this.#changedReplays(replays, replaysOf(service.replays, elsewhere))
      const found = await Promise.all([
        captured(undefined, (query) => newest({ service, replicas: [] }, query)),
        ...answering.map((it) => captured(it.replica, (query) => it.rows(pathOf(query)))),
      ])
      for (const capture of found.flat()) this.#send(encodeEvent("capture", capture))
    })
  }

  #remove(stream: EventStream): void {
    this.#watching.delete(stream)
    if (this.#watching.size === 0) this.#watched.abort()
  }

  async #overview(streams: Iterable<EventStream>): Promise<void> {
    const event = encodeEvent("overview", await overviewOf(this.#deps))
    for (const stream of streams) stream.send(event)
  }

  /** @param sent what was sent last */
  #changedReplays(sent: Map<string, string>, jobs: readonly ReplayOverview[]): void {
    for (const job of jobs.toReversed()) {
      const text = JSON.stringify(job)
      if (sent.get(job.id) !== text) this.#send(encodeEvent("replay", job))
      sent.set(job.id, text)
    }
  }

  #send(event: Uint8Array): void {
    for (const stream of this.#watching) stream.send(event)
  }

  /** Repeats an action while someone watches. @param rests the shortest pause, as a multiple of how long the action took */
  async #repeat(everyMs: number, rests: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#watched
    while (!signal.aborted) {
      const startMs = performance.now()
      await work().catch(this.#deps.failed)
      const tookMs = performance.now() - startMs
      await pause(Math.max(everyMs - tookMs, tookMs * rests), signal)
    }
  }
}

type ListCaptures = (query: CaptureQuery) => Promise<CaptureSummary[]>

/** Captures of one poll; further ones are left out. */
const MAX_NEW = 50

/** What one replica has captured since the last poll. */
class NewCaptures {
  readonly #service: Service
  /** The id of the last one; undefined: nobody has polled yet. */
  #last: string | undefined

  constructor(service: Service) {
    this.#service = service
  }

  /** The oldest first; none at the first poll. */
  async next(list: ListCaptures): Promise<readonly CaptureSummary[]> {
    if (this.#service.captureMode() === "off") return []
    const after = this.#last
    const found = await list({ after, limit: MAX_NEW })
    this.#last = found[0]?.id ?? after ?? "0"
    return after === undefined ? [] : found.toReversed()
  }
}
