import { describeFailure, isBusy, isDiskFull, type DatabaseLocation } from "./database-file.ts"
import type { DurableDatabase } from "./durable-database.ts"
import { pagesAfter, recoverAlone, type PageState } from "./recovery.ts"

/*
 * The program of a thread that has one database open: a Worker, which takes one request after the other and answers each in
 * turn. Whatever the disk does, it is this thread that waits for it.
 *
 *   open   opens the file; it must not be open. `pages` is what the last failure was answered with
 *   do     calls a method of the database; checkpoints and the like come behind the answer
 *   ask    asks for the write lock and gives it back
 *   close  closes the file
 *
 * A request that finds the file held by another process changes nothing and is answered `busy`. After any other failure the
 * file is closed; what comes until it is open again is answered `failed`, too.
 */
export type Request =
  | { readonly kind: "open"; readonly location: DatabaseLocation; readonly pages: PageState }
  | { readonly kind: "do"; readonly method: string; readonly args: readonly unknown[] }
  | { readonly kind: "ask" }
  | { readonly kind: "close" }

export interface Done<T> {
  readonly kind: "done"
  readonly value: T
  /** Whether a transaction was committed: no other process has the write lock then. */
  readonly isCommitted: boolean
}

export interface Failure {
  readonly kind: "failed"
  readonly reason: string
  readonly cause: unknown
  readonly isDiskFull: boolean
  /** What is to be said when the file is opened again. */
  readonly pages: PageState
}

export type Answer<T> = Done<T> | { readonly kind: "busy" } | Failure

/** What a method may return to have memory change hands instead of being copied. */
export interface Transferring {
  readonly transfer: readonly ArrayBuffer[]
}

declare const self: Worker

/** Takes requests from now on. @param open opens a database by its location's kind */
export function serveDatabase(open: (location: DatabaseLocation) => DurableDatabase): void {
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
        if (pages === "lost") recoverAlone(location.file)
        pages = "synced"
        database = open(location)
        return database.state()
      case "close":
        database?.close()
        database = undefined
        return undefined
      case "ask":
        return database!.askForLock()
      case "do":
        return (database as unknown as { [method: string]: (...args: readonly unknown[]) => unknown })[
          request.method
        ]!(...request.args)
    }
  }

  const failed = (error: unknown): Answer<never> => {
    if (isBusy(error)) {
      // one that could not be opened for it is as busy for what comes next
      if (database === undefined) broken = { kind: "busy" }
      return { kind: "busy" }
    }
    const reason = describeFailure(error, location!)
    pages = pagesAfter(error, database === undefined ? pages : database.isSynced ? "synced" : "unsynced")
    try {
      database?.closeFailed(error)
    } catch {
      // what was acknowledged is in the WAL, wherever it lies; the failure that is answered came first
    }
    database = undefined
    return (broken = { kind: "failed", reason, cause: error, isDiskFull: isDiskFull(error), pages })
  }

  const answer = (request: Request): Answer<unknown> => {
    if (database === undefined && (request.kind === "do" || request.kind === "ask")) return broken
    const commits = database?.commits
    try {
      const value = perform(request)
      return { kind: "done", value, isCommitted: database !== undefined && database.commits !== commits }
    } catch (error) {
      return failed(error)
    }
  }

  self.addEventListener("message", ({ data: request }: MessageEvent<Request>): void => {
    const answered = answer(request)
    const transfer = answered.kind === "done" ? (answered.value as Transferring | undefined)?.transfer : []
    self.postMessage(answered, [...(transfer ?? [])])
    if (request.kind !== "do" || answered.kind !== "done") return
    try {
      database?.afterAnswer()
    } catch (error) {
      // the next request is answered with it
      failed(error)
    }
  })
}
