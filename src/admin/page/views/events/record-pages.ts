import type { RecordPage, RecordSummary } from "../../../api/shapes.ts"
import { parseOffsets } from "./offsets.ts"
import type { RecordPlace } from "./place.ts"

/** Records of a page that is added to the newer end. */
const PAGE = 500
/** Records that are known at most: what is beyond is loaded again where someone scrolls to it. */
const MOST_KNOWN = 200_000

/** Records that follow each other in the list. */
interface Page {
  /** Value of `before` that the API has these for; undefined: the newest, when they were asked for. */
  readonly before: string | undefined
  readonly count: number
  /** The newest first; undefined: they were let go, and are loaded again when they are looked at. */
  readonly records: readonly RecordSummary[] | undefined
}

/** A page to be loaded again. */
export interface Missing {
  readonly before: string | undefined
  readonly count: number
}

/**
 * The records of a topic from the newest to the oldest that is known. It keeps the summaries of so many at most, and of
 * the others where to load them from.
 */
export class RecordPages {
  /** Value of `before` for the next older ones; null: there are none. */
  older: string | null = null
  #pages: Page[] = []
  readonly #mostLoaded: number

  constructor(mostLoaded: number) {
    this.#mostLoaded = mostLoaded
  }

  get count(): number {
    return this.#pages.reduce((sum, { count }) => sum + count, 0)
  }

  addOlder({ records, older }: RecordPage, before: string | undefined): void {
    if (records.length > 0) this.#pages.push({ before, count: records.length, records })
    this.older = older
  }

  /** @param records the oldest first @param before the API's name for what comes before the next newer one */
  addNewer(records: readonly RecordSummary[], before: string): void {
    if (records.length === 0) return
    const added = records.toReversed()
    const [first] = this.#pages
    if (first?.records !== undefined && first.count + added.length <= PAGE)
      this.#pages[0] = {
        before,
        count: first.count + added.length,
        records: [...added, ...first.records],
      }
    else this.#pages.unshift({ before, count: added.length, records: added })
    this.#bound()
  }

  #bound(): void {
    while (this.#pages.length > 1 && this.count > MOST_KNOWN) this.older = this.#pages.pop()!.before ?? null
  }

  /** Says that so many newer records are there, to be loaded where someone looks at them. */
  addMissing(count: number, before: string): void {
    this.#pages.unshift({ before, count, records: undefined })
    this.#bound()
  }

  /** What is at these places of the list; undefined: it was let go. */
  slice(first: number, end: number): (RecordSummary | undefined)[] {
    const found: (RecordSummary | undefined)[] = []
    for (const [page, start] of this.#starts()) {
      for (let at = Math.max(first, start); at < Math.min(end, start + page.count); at++)
        found.push(page.records?.[at - start])
    }
    return found
  }

  /** The place of a record in the list; -1: it is not there, or was let go. */
  indexOf(place: RecordPlace): number {
    for (const [{ records }, start] of this.#starts()) {
      const at = records?.findIndex(
        ({ partition, offset }) => partition === place.partition && offset === place.offset,
      )
      if (at !== undefined && at >= 0) return start + at
    }
    return -1
  }

  /** The pages at these places whose records were let go. */
  missing(first: number, end: number): Missing[] {
    return [...this.#starts()]
      .filter(([page, start]) => page.records === undefined && start < end && start + page.count > first)
      .map(([page]) => page)
  }

  /**
   * Puts records in the place of a page, or of the beginning of one.
   *
   * @param older value of `before` for what follows these; null: nothing does
   */
  restore({ before, count }: Missing, records: readonly RecordSummary[], older: string | null): void {
    const at = this.#pages.findIndex((page) => page.before === before && page.records === undefined)
    if (at < 0) return
    // where offsets are left out, the records reach into the next page
    const next = parseOffsets(this.#pages[at + 1]?.before)
    const own = records.filter(({ partition, offset }) => offset >= (next.get(partition) ?? 0))
    const rest = own.length < records.length || older === null ? 0 : count - own.length
    this.#pages.splice(
      at,
      1,
      ...(own.length > 0 ? [{ before, count: own.length, records: own }] : []),
      ...(rest > 0 ? [{ before: older!, count: rest, records: undefined }] : []),
    )
  }

  /** Lets go of the pages that are the farthest from a place, where there are too many records. */
  letGo(around: number): void {
    const distance = (start: number, count: number): number =>
      Math.max(0, start - around, around - start - count)
    const loaded = [...this.#starts()]
      .flatMap(([page, start], at) =>
        page.records === undefined ? [] : [{ at, far: distance(start, page.count) }],
      )
      .toSorted((a, b) => b.far - a.far)
    let count = loaded.reduce((sum, { at }) => sum + this.#pages[at]!.count, 0)
    if (count <= this.#mostLoaded) return
    for (const { at, far } of loaded) {
      if (count <= this.#mostLoaded || far === 0) break
      const page = this.#pages[at]!
      count -= page.count
      this.#pages[at] = { ...page, records: undefined }
    }
    this.#join()
  }

  /** Makes one page of small ones that follow each other and were let go. */
  #join(): void {
    const joined: Page[] = []
    for (const page of this.#pages) {
      const last = joined.at(-1)
      if (
        page.records === undefined &&
        last !== undefined &&
        last.records === undefined &&
        last.count + page.count <= PAGE
      )
        joined[joined.length - 1] = { ...last, count: last.count + page.count }
      else joined.push(page)
    }
    this.#pages = joined
  }

  *#starts(): Iterable<readonly [page: Page, start: number]> {
    let start = 0
    for (const page of this.#pages) {
      yield [page, start]
      start += page.count
    }
  }
}
