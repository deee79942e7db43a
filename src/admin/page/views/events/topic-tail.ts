import { signal } from "@preact/signals"
import type { LiveRecords, RecordPage } from "../../../api/shapes.ts"
import { apiUrl, get } from "../../api-client.ts"
import { readEvents, type StreamState } from "../../event-stream.ts"
import type { RecordPlace } from "./place.ts"
import type { Bounds } from "./range.ts"
import { RecordPages, type Missing } from "./record-pages.ts"

/** Records asked for at once. */
const LIMIT = 200
/** Summaries in memory; each takes half a kilobyte. */
const MOST_LOADED = 10_000
/** Requests for older records that go on by themselves where a filter finds nothing. */
const MOST_SEARCHES = 10

export interface TailQuery extends Bounds {
  readonly connection: string
  readonly topic: string
  readonly where: string | undefined
}

/** Records of a topic: older ones as someone scrolls to them, and new ones as they come. */
export class TopicTail {
  readonly query: TailQuery
  readonly pages = new RecordPages(MOST_LOADED)
  /** Changes whenever `pages` do. */
  readonly version = signal(0)
  /** Of the live stream; undefined: the range has an end, and nothing follows. */
  readonly stream = signal<StreamState | undefined>(undefined)
  readonly error = signal<unknown>(undefined)
  readonly isLoading = signal(true)
  /** Newest records that the list does not show yet. */
  readonly fresh = signal(0)
  readonly isPaused = signal(false)
  /** Records that were left out of the live stream. */
  readonly skipped = signal(0)
  /** Records that were looked at since one was found. */
  readonly searched = signal(0)
  /** Whether a record has one, so that columns do not come and go. */
  readonly has = { type: signal(false), key: signal(false) }
  /** Whether new records move the list: not while someone reads further down. */
  isAtTop = true
  readonly #leaving = new AbortController()
  readonly #restoring = new Set<Missing["before"]>()
  #isStarted = false

  constructor(query: TailQuery) {
    this.query = query
  }

  open(): void {
    const { connection, topic, where, until } = this.query
    if (until !== undefined) return void this.#start(undefined)
    this.stream.value = "connecting"
    const url = apiUrl("records/live", { connection, topic, where })
    const handlers = {
      event: (_: string, data: unknown, id: string) => this.#take(data as LiveRecords, id),
      state: (state: StreamState, error?: Error) => {
        this.stream.value = state
        if (!this.#isStarted && error !== undefined) this.error.value = error
        // without a stream, what is there is shown all the same
        if (state === "refused") this.#start(undefined)
      },
    }
    void readEvents(url, handlers, this.#leaving.signal)
  }

  close(): void {
    this.#leaving.abort()
  }

  /** Shows what is new. */
  catchUp(): void {
    this.isPaused.value = false
    this.isAtTop = true
    this.fresh.value = 0
  }

  get shown(): number {
    return this.pages.count - this.fresh.peek()
  }

  /** What the list shows at these places: what is missing is loaded, and so is what is older near the end. */
  look(first: number, end: number): void {
    const fresh = this.fresh.peek()
    for (const missing of this.pages.missing(first + fresh, end + fresh)) void this.#restore(missing)
    if (end >= this.shown - LIMIT / 2 && this.error.peek() === undefined && this.searched.peek() === 0)
      void this.loadOlder()
    this.pages.letGo(first + fresh)
  }

  placeOf(record: RecordPlace): number {
    const at = this.pages.indexOf(record)
    return at < 0 ? -1 : at - this.fresh.peek()
  }

  async loadOlder(): Promise<void> {
    if (this.isLoading.peek() || (this.#isStarted && this.pages.older === null)) return
    this.searched.value = 0
    await this.#load(this.pages.older ?? undefined)
  }

  /** @param before undefined: from the newest */
  #start(before: string | undefined): void {
    if (this.#isStarted) return
    this.#isStarted = true
    void this.#load(before)
  }

  async #load(before: string | undefined): Promise<void> {
    this.isLoading.value = true
    this.error.value = undefined
    let from = before
    try {
      for (let search = 0; search < MOST_SEARCHES; search++) {
        const page = await this.#page(from, LIMIT)
        this.pages.addOlder(page, from)
        this.#note(page)
        this.searched.value = page.records.length > 0 ? 0 : this.searched.value + page.scanned
        if (page.records.length > 0 || page.older === null) break
        from = page.older
      }
    } catch (error) {
      if (this.#leaving.signal.aborted) return
      this.error.value = error
      this.pages.older ??= from ?? null
    } finally {
      this.isLoading.value = false
    }
    this.version.value++
  }

  #page(before: string | undefined, limit: number): Promise<RecordPage> {
    const { connection, topic, where, since, until } = this.query
    return get("records", { connection, topic, where, since, until, before, limit }, this.#leaving.signal)
  }

  async #restore(missing: Missing): Promise<void> {
    if (this.#restoring.has(missing.before)) return
    this.#restoring.add(missing.before)
    try {
      const { records } = await this.#page(missing.before, missing.count)
      this.pages.restore(missing, records)
      this.version.value++
    } catch (error) {
      if (!this.#leaving.signal.aborted) this.error.value = error
    } finally {
      this.#restoring.delete(missing.before)
    }
  }

  #take({ records, skipped }: LiveRecords, id: string): void {
    if (!this.#isStarted) this.#start(id)
    this.skipped.value += skipped
    if (records.length === 0) return
    this.pages.addNewer(records, id)
    this.#note({ records })
    if (this.isPaused.peek() || !this.isAtTop) this.fresh.value += records.length
    else this.pages.letGo(0)
    this.version.value++
  }

  #note({ records }: Pick<RecordPage, "records">): void {
    this.has.type.value ||= records.some(({ type }) => type !== null)
    this.has.key.value ||= records.some(({ key }) => key !== null)
  }
}
