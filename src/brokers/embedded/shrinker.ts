import type { Database } from "bun:sqlite"
import { pragma } from "../../storage/database-file.ts"
import { PAGE_BYTES } from "./log-tables.ts"

/** Free pages are given back from this many on that are a quarter of the file, down to KEPT_PAGES. */
const FREE_PAGES = (16 * 1024 * 1024) / PAGE_BYTES
const KEPT_PAGES = (4 * 1024 * 1024) / PAGE_BYTES
const MOST_PAGES = 64
const SLICE_MS = 1
/** `PRAGMA auto_vacuum` */
const INCREMENTAL = 2

/**
 * Returns a log's free pages to the disk, but for some that the next records fill: used pages at the end of the file move
 * forward, and the next checkpoint truncates it. A file without pointer maps (`PRAGMA auto_vacuum`) keeps its size.
 */
export class Shrinker {
  readonly #db: Database
  readonly #canShrink: boolean
  /** Something was deleted since the free pages were counted. */
  #hasDeleted = true
  #isShrinking = false
  #slicePages = MOST_PAGES

  constructor(db: Database) {
    this.#db = db
    this.#canShrink = pragma(db, "auto_vacuum") === INCREMENTAL
  }

  /** Records were deleted: there may be more free pages. */
  deleted(): void {
    this.#hasDeleted = true
  }

  /** Whether there are many free pages, or not all of those are given back yet. */
  get isDue(): boolean {
    if (this.#isShrinking || !this.#canShrink || !this.#hasDeleted) return this.#isShrinking
    this.#hasDeleted = false
    const free = pragma(this.#db, "freelist_count")
    return (this.#isShrinking = free >= FREE_PAGES && free * 4 >= pragma(this.#db, "page_count"))
  }

  /** Gives back a slice. @returns its pages */
  giveBack(bytes: number): number {
    const pages = Math.max(1, Math.min(this.#slicePages, Math.floor(bytes / PAGE_BYTES)))
    const startedMs = performance.now()
    this.#db.run(`PRAGMA incremental_vacuum(${pages})`)
    const ms = performance.now() - startedMs
    if (ms > SLICE_MS) this.#slicePages = Math.max(1, this.#slicePages >> 1)
    else if (ms < SLICE_MS / 2) this.#slicePages = Math.min(MOST_PAGES, this.#slicePages * 2)
    this.#isShrinking = pragma(this.#db, "freelist_count") > KEPT_PAGES
    return pages
  }
}
