import { HooklineError } from "../errors.ts"
import { DamagedFile, isDamage, ReadError } from "./damage.ts"
import { describeFailure, isBusy, isDiskFull, type DatabaseLocation } from "./database-file.ts"
import type { DurableDatabase } from "./durable-database.ts"
import { checkIdentities, CommitsLost, WalTruncated, type FileIdentities } from "./open-files.ts"
import { pagesAfter, recoverAlone, type PageState } from "./recovery.ts"

/*
 * The program of a database's thread, a Worker that answers requests in order:
 *
 *   open   opens the file; it must not be open
 *   do     calls an operation of the database; checkpoints and the like follow the answer
 *   poll   tries the write lock
 *   close  closes the file
 *
 * A request that finds a lock held by another process changes nothing and is answered `busy`. After any other failure the file
 * is closed, and requests are answered `failed` until it is open again.
 */
export type Request =
  | {
      readonly kind: "open"
      readonly location: DatabaseLocation
      readonly pages: PageState
      /** Identities of the files when they were open before. */
      readonly files: FileIdentities | undefined
      readonly wasUnclean: boolean
    }
  | { readonly kind: "do"; readonly operation: string; readonly args: readonly unknown[] }
  | { readonly kind: "poll" }
  | { readonly kind: "close" }

export interface Done<T> {
  readonly kind: "done"
  readonly value: T
  /** Whether a transaction was committed, and the write lock acquired. */
  readonly isCommitted: boolean
}

/** What the answer to `open` says. */
export interface Opened {
  /** As `DurableDatabase.state` */
  readonly state: unknown
  readonly files: FileIdentities
}

export interface Failure {
  readonly kind: "failed"
  readonly reason: string
  readonly cause: unknown
  readonly isDiskFull: boolean
  /** A file that was open is not opened again, so that nothing more is written to it. */
  readonly isDamaged?: true
  /** The reason until that is certain. */
  readonly suspicion?: string
  /** The same: commits are lost, since its WAL was truncated or an earlier copy was written over it, and clients may have read them. */
  readonly isTruncated?: true
  /** For the next `open`. */
  readonly pages: PageState
}

/** Pause before a `busy` request is repeated. */
export const BUSY_RETRY_MS = 5

export type ThreadAnswer<T> = Done<T> | { readonly kind: "busy" } | Failure

export function failureOf(error: unknown, location: DatabaseLocation, pages: PageState): Failure {
  // a HooklineError's message says it all
  const cause = error instanceof HooklineError ? error.cause : error
  const reason = describeFailure(error, location)
  const failure: Failure = { kind: "failed", reason, cause, isDiskFull: isDiskFull(cause), pages }
  if (error instanceof WalTruncated) return { ...failure, isTruncated: true }
  if (error instanceof CommitsLost) return { ...failure, isTruncated: true }
  if (error instanceof ReadError || !(isDamage(error) || isDamage(cause))) return failure
  const { message } = error as Error
  const what = error instanceof DamagedFile ? error.what : message
  const suspicion = `${location.file} may be damaged (${what}): it is read anew and checked`
  return { ...failure, isDamaged: true, suspicion }
}

/** Serves the requests of one event loop. @param open opens a database by its location's kind */
export function serveDatabase(
  open: (location: DatabaseLocation) => DurableDatabase,
  port: Pick<Worker, "addEventListener" | "postMessage">,
): void {
  const thread = new DatabaseThread(open)
  port.addEventListener("message", ({ data: request }: MessageEvent<Request>): void => {
    const answered = thread.answer(request)
    // a value may have buffers that are transferred instead of copied
    const value = answered.kind === "done" ? (answered.value as { transfer?: ArrayBuffer[] } | undefined) : {}
    port.postMessage(answered, value?.transfer ?? [])
    if (request.kind === "do" && answered.kind === "done") thread.afterAnswer()
  })
}

class DatabaseThread {
  readonly #openDatabase: (location: DatabaseLocation) => DurableDatabase
  #location: DatabaseLocation | undefined
  #database: DurableDatabase | undefined
  /** The one that failed. */
  #before: DurableDatabase | undefined
  #pages: PageState = "synced"
  /** Why there is no database. */
  #broken: ThreadAnswer<never> = {
    kind: "failed",
    reason: "the file is not open",
    cause: undefined,
    isDiskFull: false,
    pages: "synced",
  }

  constructor(open: (location: DatabaseLocation) => DurableDatabase) {
    this.#openDatabase = open
  }

  answer(request: Request): ThreadAnswer<unknown> {
    const database = this.#database
    if (database === undefined && (request.kind === "do" || request.kind === "poll")) return this.#broken
    const commits = database?.commits
    try {
      const value = this.#perform(request)
      const { commits: commitsNow } = this.#database ?? {}
      return { kind: "done", value, isCommitted: commitsNow !== undefined && commitsNow !== commits }
    } catch (error) {
      return this.#failed(error)
    }
  }

  afterAnswer(): void {
    try {
      this.#database?.afterAnswer()
    } catch (error) {
      // answers the next request
      this.#failed(error)
    }
  }

  #perform(request: Request): unknown {
    switch (request.kind) {
      case "open":
        return this.#open(request)
      case "close":
        this.#database?.close()
        this.#database = undefined
        return undefined
      case "poll":
        return this.#database!.pollLock()
      case "do":
        return this.#database!.operations[request.operation]!(...(request.args as never[]))
    }
  }

  #open({ location, pages, files, wasUnclean }: Extract<Request, { kind: "open" }>): Opened {
    this.#location = location
    this.#pages = pages
    if (files !== undefined) checkIdentities(files)
    if (pages === "lost") recoverAlone(location.file)
    this.#pages = "synced"
    const database = (this.#database = this.#openDatabase(location))
    if (this.#before !== undefined) database.follow(this.#before)
    this.#before = undefined
    database.check(wasUnclean || files !== undefined)
    return { state: database.state(), files: database.files.lasting }
  }

  #failed(given: unknown): ThreadAnswer<never> {
    const database = this.#database
    if (isBusy(given)) {
      // also for what comes next, if it is not open
      if (database === undefined) this.#broken = { kind: "busy" }
      return { kind: "busy" }
    }
    const error = database === undefined ? given : database.whyFailed(given)
    const pages = database === undefined ? this.#pages : database.isSynced ? "synced" : "unsynced"
    this.#pages = pagesAfter(error, pages)
    try {
      database?.closeFailed(error)
    } catch {
      // what was acknowledged is in the WAL; the first failure is answered
    }
    this.#before ??= database
    this.#database = undefined
    return (this.#broken = failureOf(error, this.#location!, this.#pages))
  }
}
