import { signal } from "@preact/signals"
import type { LiveRecords, RecordPage, RecordSummary } from "../../../api/shapes.ts"
import { apiUrl, get } from "../../api-client.ts"
import { readEvents, type StreamState } from "../../event-stream.ts"
import { beforeThese } from "./offsets.ts"
import type { RecordPlace, Source } from "./place.ts"
import type { Bounds } from "./range.ts"
import { RecordPages, type Missing } from "./record-pages.ts"

/** Records asked for at once: some screens at first, then as many as the API gives. */
const FIRST_LIMIT = 100
const LIMIT = 500
/** Rows beyond those that are looked at for which older records are asked for. */
const AHEAD = 50
/** Summaries in memory; each takes half a kilobyte. */
const MOST_LOADED = 10_000
/** How long a missing row is in sight before it is loaded. */
const LINGER_MS = 250
/** At the top, where the next live event moves it down: longer than until that comes. */
const LINGER_LIVE_MS = 1000
/** Requests for older records that go on by themselves where a filter finds nothing. */
const MOST_SEARCHES = 10

export interface TailQuery extends Source, Bounds {
  readonly where: string | undefined
}

/**
 * Records of a topic: older ones as someone scrolls to them, and new ones as they come.
 *
 * New records go on top of the list, unless it is paused, or someone reads further down, or the record that someone has
 * opened would be pushed out of sight: then they are counted in `fresh`, and the list stays where it is.
 */
export class TopicTail {
  readonly query: TailQuery
  /** Changes whenever the list does. */
  readonly version = signal(0)
  /** Of the live stream; undefined: the range has an end, and nothing follows. */
  readonly stream = signal<StreamState | undefined>(undefined)
  readonly error = signal<unknown>(undefined)
  readonly isLoading = signal(true)
  /** Newest records that the list does not show yet. */
  readonly fresh = signal(0)
  readonly isPaused = signal(false)
  /** Records that came too fast to be searched by the filter. */
  readonly skipped = signal(0)
  /** Records that were looked at since one was found. */
  readonly searched = signal(0)
  /** Whether a record has one, so that columns do not come and go. */
  readonly has = { type: signal(false), key: signal(false) }
  /** The record that someone looks at. */
  kept: RecordPlace | undefined
  /** Rows that there is room for. */
  visible = 0
  #pages = new RecordPages(MOST_LOADED)
  #first = 0
  #end = 0
  #isAtTop = true
  #isStarted = false
  /** Whether the list goes on into the live stream. */
  #isFollowing = false
  readonly #leaving = new AbortController()
  readonly #restoring = new Set<Missing["before"]>()

  constructor(query: TailQuery) {
    this.query = query
  }

  open(): void {
    const { connection, topic, where, until } = this.query
    if (until !== undefined) return this.#start(undefined)
    this.stream.value = "connecting"
    const url = apiUrl("records/live", { connection, topic, where })
    const handlers = {
      event: (_: string, data: unknown, id: string) => this.#take(data as LiveRecords, id),
      state: (state: StreamState) => {
        this.stream.value = state
        // without a stream, what is there is shown all the same
        if ((state === "refused" || state === "lost") && !this.#isStarted) this.#start(undefined)
      },
    }
    void readEvents(url, handlers, this.#leaving.signal)
  }

  close(): void {
    this.#leaving.abort()
  }

  /** Rows of the list. */
  get count(): number {
    return this.#pages.count - this.fresh.peek()
  }

  get hasOlder(): boolean {
    return !this.#isStarted || this.#pages.older !== null
  }

  /** The rows at these places; undefined: one is being loaded again. */
  rows(first: number, end: number): (RecordSummary | undefined)[] {
    return this.#pages.slice(first + this.fresh.peek(), end + this.fresh.peek())
  }

  /** -1: it is not in the list. */
  placeOf(record: RecordPlace): number {
    const at = this.#pages.indexOf(record)
    return at < 0 ? -1 : at - this.fresh.peek()
  }

  /** Says what is in sight: what is missing there is loaded, and so is what is older near the end. */
  look(first: number, end: number, isAtTop: boolean): void {
    this.#first = first
    this.#end = end
    if (isAtTop && !this.#isAtTop && !this.isPaused.peek() && this.fresh.peek() > 0) {
      this.fresh.value = 0
      this.version.value++
    }
    this.#isAtTop = isAtTop
    const fresh = this.fresh.peek()
    for (const missing of this.#pages.missing(first + fresh, end + fresh)) this.#restoreSoon(missing)
    if (end >= this.count - AHEAD && this.error.peek() === undefined && this.searched.peek() === 0)
      this.loadOlder()
    this.#pages.letGo(first + fresh)
  }

  pause(): void {
    this.isPaused.value = true
  }

  /** Shows what is new, and goes on. */
  resume(): void {
    this.isPaused.value = false
    this.#isAtTop = true
    this.#first = 0
    this.fresh.value = 0
    this.version.value++
  }

  loadOlder(): void {
    if (this.isLoading.peek() || !this.hasOlder) return
    void this.#load(this.#pages.older ?? undefined)
  }

  /** @param before undefined: from the newest */
  #start(before: string | undefined): void {
    this.#isStarted = true
    this.#pages = new RecordPages(MOST_LOADED)
    this.fresh.value = 0
    void this.#load(before)
  }

  async #load(before: string | undefined): Promise<void> {
    const pages = this.#pages
    let from = before
    this.isLoading.value = true
    this.error.value = undefined
    this.searched.value = 0
    try {
      for (let search = 0; search < MOST_SEARCHES; search++) {
        const page = await this.#page(from, pages.count === 0 ? FIRST_LIMIT : LIMIT)
        if (pages !== this.#pages) return
        pages.addOlder(page, from)
        this.#note(page.records)
        this.searched.value = page.records.length > 0 ? 0 : this.searched.value + page.scanned
        if (page.records.length > 0 || page.older === null) break
        from = page.older
      }
    } catch (error) {
      if (this.#leaving.signal.aborted || pages !== this.#pages) return
      this.error.value = error
      pages.older ??= from ?? null
      if (from === undefined) this.#isStarted = false
    }
    this.isLoading.value = false
    this.version.value++
  }

  #page(before: string | undefined, limit: number): Promise<RecordPage> {
    const { connection, topic, where, since, until } = this.query
    return get("records", { connection, topic, where, since, until, before, limit }, this.#leaving.signal)
  }

  /** What is in sight only in passing is not loaded. */
  #restoreSoon(missing: Missing): void {
    if (this.#restoring.has(missing.before)) return
    this.#restoring.add(missing.before)
    const lingerMs = this.#isAtTop && !this.isPaused.peek() ? LINGER_LIVE_MS : LINGER_MS
    setTimeout(() => {
      const fresh = this.fresh.peek()
      const isLookedAt = this.#pages
        .missing(this.#first + fresh, this.#end + fresh)
        .some(({ before }) => before === missing.before)
      if (isLookedAt && !this.#leaving.signal.aborted) void this.#restore(missing)
      else this.#restoring.delete(missing.before)
    }, lingerMs)
  }

  async #restore(missing: Missing): Promise<void> {
    const pages = this.#pages
    const wanted = Math.min(missing.count, LIMIT)
    try {
      const records: RecordSummary[] = []
      let before = missing.before ?? null
      // a filter finds some in each request
      do {
        const page: RecordPage = await this.#page(before ?? undefined, wanted - records.length)
        records.push(...page.records)
        before = page.older
      } while (records.length < wanted && before !== null)
      pages.restore(missing, records, before)
      this.#note(records)
    } catch (error) {
      if (!this.#leaving.signal.aborted) this.error.value = error
    } finally {
      this.#restoring.delete(missing.before)
    }
    this.version.value++
  }

  #take({ records, skipped }: LiveRecords, id: string): void {
    if (!this.#isFollowing) {
      this.#isFollowing = true
      this.#start(id)
    }
    if (records.length + skipped === 0) return
    // of a filter's it is not known how many there are
    const missing = this.query.where === undefined ? skipped : 0
    this.skipped.value += skipped - missing
    if (missing > 0) this.#pages.addMissing(missing, beforeThese(records, id))
    this.#pages.addNewer(records, id)
    this.#note(records)
    const fresh = this.fresh.peek() + records.length + missing
    this.fresh.value = this.isPaused.peek() || !this.#isAtTop || this.#pushesOut(fresh) ? fresh : 0
    this.#pages.letGo(this.#first + this.fresh.peek())
    this.version.value++
  }

  /** Whether so many new records would take the one that someone looks at out of sight. */
  #pushesOut(fresh: number): boolean {
    const at = this.kept === undefined ? -1 : this.#pages.indexOf(this.kept)
    return at >= fresh && at - fresh < this.visible && at >= this.visible
  }

  #note(records: readonly RecordSummary[]): void {
    this.has.type.value ||= records.some(({ type }) => type !== null)
    this.has.key.value ||= records.some(({ key }) => key !== null)
  }
}
