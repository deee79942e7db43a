import { HooklineError } from "../errors.ts"
import { describeFailure, isBusy, isDamage, isDiskFull, type DatabaseLocation } from "./database-file.ts"
import type { DurableDatabase } from "./durable-database.ts"
import { checkIdentities, type FileIdentities } from "./open-files.ts"
import { pagesAfter, recoverAlone, type PageState } from "./recovery.ts"

/*
 * The program of a database's thread, a Worker that answers requests in order:
 *
 *   open   opens the file; it must not be open
 *   do     calls a method of the database; checkpoints and the like follow the answer
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
      /** Of the files when they were open before. */
      readonly files: FileIdentities | undefined
      readonly wasUnclean: boolean
    }
  | { readonly kind: "do"; readonly method: string; readonly args: readonly unknown[] }
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
  /** For the next `open`. */
  readonly pages: PageState
}

/** Pause before a `busy` request is repeated. */
export const BUSY_RETRY_MS = 5

/** A database's methods, called across threads with plain data. */
export type Methods<D> = { [K in keyof D as D[K] extends (...args: never[]) => unknown ? K : never]: D[K] }
export type Call<D, K extends keyof Methods<D>> = Extract<Methods<D>[K], (...args: never[]) => unknown>

export type Answer<T> = Done<T> | { readonly kind: "busy" } | Failure

export function failureOf(error: unknown, location: DatabaseLocation, pages: PageState): Failure {
  // a HooklineError's message says it all
  const cause = error instanceof HooklineError ? error.cause : error
  const reason = describeFailure(error, location)
  const failure: Failure = { kind: "failed", reason, cause, isDiskFull: isDiskFull(cause), pages }
  return isDamage(error) || isDamage(cause) ? { ...failure, isDamaged: true } : failure
}

/** The thread's end of the messages. */
export type Port = Pick<Worker, "addEventListener" | "postMessage">

/** @param open opens a database by its location's kind */
export function serveDatabase(open: (location: DatabaseLocation) => DurableDatabase, port: Port): void {
  let location: DatabaseLocation | undefined
  let database: DurableDatabase | undefined
  let pages: PageState = "synced"
  /** Why there is no database. */
  let broken: Answer<never> = {
    kind: "failed",
    reason: "the file is not open",
    cause: undefined,
    isDiskFull: false,
    pages,
  }

  const perform = (request: Request): unknown => {
    switch (request.kind) {
      case "open":
        ;({ location, pages } = request)
        if (request.files !== undefined) checkIdentities(request.files)
        if (pages === "lost") recoverAlone(location.file)
        pages = "synced"
        database = open(location)
        database.check(request.wasUnclean || request.files !== undefined)
        return { state: database.state(), files: database.files.lasting } satisfies Opened
      case "close":
        database?.close()
        database = undefined
        return undefined
      case "poll":
        return database!.pollLock()
      case "do":
        return (database as unknown as { [method: string]: (...args: readonly unknown[]) => unknown })[
          request.method
        ]!(...request.args)
    }
  }

  const failed = (error: unknown): Answer<never> => {
    if (isBusy(error)) {
      // also for what comes next, if it is not open
      if (database === undefined) broken = { kind: "busy" }
      return { kind: "busy" }
    }
    pages = pagesAfter(error, database === undefined ? pages : database.isSynced ? "synced" : "unsynced")
    try {
      database?.closeFailed(error)
    } catch {
      // what was acknowledged is in the WAL; the first failure is answered
    }
    database = undefined
    return (broken = failureOf(error, location!, pages))
  }

  const answer = (request: Request): Answer<unknown> => {
    if (database === undefined && (request.kind === "do" || request.kind === "poll")) return broken
    const commits = database?.commits
    try {
      const value = perform(request)
      return { kind: "done", value, isCommitted: database !== undefined && database.commits !== commits }
    } catch (error) {
      return failed(error)
    }
  }

  port.addEventListener("message", ({ data: request }: MessageEvent<Request>): void => {
    const answered = answer(request)
    // a value may have buffers that are transferred instead of copied
    const value = answered.kind === "done" ? (answered.value as { transfer?: ArrayBuffer[] } | undefined) : {}
    port.postMessage(answered, value?.transfer ?? [])
    if (request.kind !== "do" || answered.kind !== "done") return
    try {
      database?.afterAnswer()
    } catch (error) {
      // answers the next request
      failed(error)
    }
  })
}
