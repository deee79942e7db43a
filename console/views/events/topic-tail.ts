import { signal } from "@preact/signals"
import type { LiveRecords, RecordPage, RecordSummary } from "../../api.ts"
import { apiUrl, get } from "../../api-client.ts"
import { readEvents, type StreamState } from "../../event-stream.ts"
import { beforeThese, withThese } from "./offsets.ts"
import { isSame, type RecordPlace, type Source } from "./place.ts"
import type { Bounds } from "./range.ts"

/** Records asked for at once: some screens at first, then as many as the API gives. */
const FIRST_LIMIT = 100
const LIMIT = 500
/** Rows beyond those in sight for which older records are asked for. */
const AHEAD = 50
/** Summaries in memory; each needs half a kilobyte. */
const MOST_RECORDS = 20_000
/** Requests for older records that follow by themselves where a filter finds nothing. */
const MOST_SEARCHES = 10

export interface TailQuery extends Source, Bounds {
  readonly where: string | undefined
}

/**
 * Records of a topic: older ones as someone scrolls to them, and new ones as they arrive. Beyond `MOST_RECORDS`, those at the
 * other end are removed.
 *
 * New records are added at the top of the list, unless it is paused, or someone reads further down, or the record that someone has
 * opened would be pushed out of sight: then they are counted in `fresh`, and the list stays where it is.
 */
export class TopicTail {
  readonly query: TailQuery
  /** Changes whenever the list does. */
  readonly version = signal(0)
  /** State of the live stream; undefined: the range has an end, and nothing follows. */
  readonly stream = signal<StreamState | undefined>(undefined)
  readonly error = signal<unknown>(undefined)
  readonly isLoading = signal(true)
  /** Newest records that the list does not show. */
  readonly fresh = signal(0)
  readonly isPaused = signal(false)
  /** Records that came too fast to be searched by the filter. */
  readonly skipped = signal(0)
  /** Records that were looked at since one was found. */
  readonly searched = signal(0)
  /** Topics that are too many to be read with the others. */
  readonly leftOut = signal(0)
  /** Whether a record has one, so that columns do not come and go. */
  readonly has = { type: signal(false), key: signal(false) }
  /** The selected record. */
  kept: RecordPlace | undefined
  /** Rows that fit into the list. */
  visible = 0
  /** Rows that were removed above those in sight, ever. */
  removedRows = 0
  /** The newest first. */
  #records: readonly RecordSummary[] = []
  /** How many of the newest `#records` the list does not show yet. */
  #hidden = 0
  /** Whether `fresh` counts records that are not in `#records`. */
  #hasGap = false
  /** Whether the last batch did not continue the list. */
  #isReplaced = false
  /** Value of `before` for the next older ones; null: there are none. */
  #older: string | null = null
  /** Changes with each list that does not continue the one before. */
  #list = 0
  /** Id of the last live event, which names what is before the next one. */
  #id: string | undefined
  #isAtTop = true
  #isStarted = false
  readonly #leaving = new AbortController()

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
        // without a stream, what exists is shown all the same
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
    return this.#records.length - this.#hidden
  }

  get hasOlder(): boolean {
    return !this.#isStarted || this.#older !== null
  }

  row(index: number): RecordSummary | undefined {
    return this.#records[this.#hidden + index]
  }

  /** -1: it is not in the list. */
  placeOf(record: RecordPlace): number {
    const at = this.#records.findIndex((it) => isSame(it, record))
    return Math.max(-1, at - this.#hidden)
  }

  /** Takes note of what is in sight: near the end of the list, older records are loaded. */
  sees(end: number, isAtTop: boolean): void {
    const hasReturned = isAtTop && !this.#isAtTop
    this.#isAtTop = isAtTop
    if (hasReturned && !this.isPaused.peek()) this.#showFresh()
    // where more comes than is sent, the next batch replaces the list: what is in sight is enough
    const ahead = this.#isReplaced ? 0 : AHEAD
    if (end >= this.count - ahead && this.error.peek() === undefined && this.searched.peek() === 0)
      this.loadOlder()
  }

  pause(): void {
    this.isPaused.value = true
  }

  /** Shows what is new, and continues. */
  resume(): void {
    this.isPaused.value = false
    this.#isAtTop = true
    this.#showFresh()
  }

  #showFresh(): void {
    if (this.fresh.peek() === 0) return
    if (this.#hasGap) return this.#start(this.#id)
    this.#hidden = 0
    this.fresh.value = 0
    this.version.value++
  }

  loadOlder(): void {
    if (this.isLoading.peek() || !this.hasOlder) return
    void this.#load(this.#older ?? undefined)
  }

  /** @param before undefined: from the newest */
  #start(before: string | undefined): void {
    this.#isStarted = true
    this.#replace([], null)
    void this.#load(before)
  }

  #replace(records: readonly RecordSummary[], older: string | null): void {
    this.#list++
    this.#records = records
    this.#older = older
    this.#hidden = 0
    this.#hasGap = false
    this.fresh.value = 0
    this.isLoading.value = false
  }

  async #load(before: string | undefined): Promise<void> {
    const list = this.#list
    let from = before
    this.isLoading.value = true
    this.error.value = undefined
    this.searched.value = 0
    try {
      for (let search = 0; search < MOST_SEARCHES; search++) {
        const page = await this.#page(from, this.#records.length < FIRST_LIMIT ? FIRST_LIMIT : LIMIT)
        if (list !== this.#list) return
        this.leftOut.value = page.left_out
        this.#addOlder(page)
        this.#note(page.records)
        this.searched.value = page.records.length > 0 ? 0 : this.searched.value + page.scanned
        if (page.records.length > 0 || page.older === null) break
        from = page.older
      }
    } catch (error) {
      if (this.#leaving.signal.aborted || list !== this.#list) return
      this.error.value = error
      this.#older ??= from ?? null
      if (from === undefined) this.#isStarted = false
    }
    this.isLoading.value = false
    this.version.value++
  }

  #addOlder({ records, older }: RecordPage): void {
    const all = [...this.#records, ...records]
    this.#records = all.slice(-MOST_RECORDS)
    this.#older = older
    const removed = all.length - this.#records.length
    if (removed === 0) return
    const removedRows = Math.max(0, removed - this.#hidden)
    this.#hidden -= removed - removedRows
    this.removedRows += removedRows
    this.fresh.value += removedRows
    this.#hasGap = true
  }

  #page(before: string | undefined, limit: number): Promise<RecordPage> {
    const { connection, topic, where, since, until } = this.query
    return get("records", { connection, topic, where, since, until, before, limit }, this.#leaving.signal)
  }

  #take({ records, skipped }: LiveRecords, id: string): void {
    if (this.#id === undefined) this.#start(id)
    this.#id = id
    if (records.length + skipped === 0) return
    // the number of skipped records that pass a filter is unknown
    const missing = this.query.where === undefined ? skipped : 0
    this.skipped.value += skipped - missing
    this.#note(records)
    const fresh = this.fresh.peek() + records.length + missing
    const isHeld = this.isPaused.peek() || !this.#isAtTop || this.#pushesOut(fresh)
    const isKept =
      !this.#hasGap && missing === 0 && !(isHeld && this.#records.length + records.length > MOST_RECORDS)
    this.#isReplaced = !isKept && !isHeld
    if (isKept) this.#addNewer(records)
    else if (isHeld) this.#hasGap = true
    else this.#replace(records.toReversed(), beforeThese(records, id))
    this.#hidden = isHeld ? this.#hidden + (isKept ? records.length : 0) : 0
    this.fresh.value = isHeld ? fresh : 0
    this.version.value++
  }

  /** @param records the oldest first */
  #addNewer(records: readonly RecordSummary[]): void {
    const all = [...records.toReversed(), ...this.#records]
    const removed = all.slice(MOST_RECORDS)
    this.#records = all.slice(0, MOST_RECORDS)
    if (removed.length === 0) return
    this.#older = withThese(removed, this.#older)
    // what is being loaded follows the removed ones
    this.#list++
    this.isLoading.value = false
  }

  /** Whether adding this many records would scroll the selected one out of view. */
  #pushesOut(fresh: number): boolean {
    const at = this.kept === undefined ? -1 : this.placeOf(this.kept)
    return at >= 0 && at < this.visible && at + fresh >= this.visible
  }

  #note(records: readonly RecordSummary[]): void {
    this.has.type.value ||= records.some(({ type }) => type !== null)
    this.has.key.value ||= records.some(({ key }) => key !== null)
  }
}
