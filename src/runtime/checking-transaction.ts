import type { Acquired, Connection } from "../brokers/define-connection.ts"
import { MemoryLog } from "../brokers/memory/log.ts"
import { steadyMs } from "../clock/clock.ts"
import type { Place, Problems } from "../config/file/problems.ts"
import { DedupeKeys } from "../dedupe/dedupe-keys.ts"
import { dedupeFileIn } from "../dedupe/key-database.ts"
import type { Location } from "../dedupe/location.ts"
import { MemoryKeys } from "../dedupe/memory-keys.ts"
import type { RedisServer } from "../dedupe/redis-client.ts"
import { HooklineError, namesOf, OptionError, type FaultCode } from "../errors.ts"
import type { ResourceSpec } from "../pipeline/resource.ts"
import { checkDatabase } from "../storage/check-database.ts"
import type { DatabaseLocation } from "../storage/database-file.ts"
import { checkUnlocked } from "../storage/writer-lock.ts"
import type { PlanTransaction } from "./plan-transaction.ts"
import { SILENT } from "./warning-log.ts"

/** The options of a part of the configuration, and the places of its problems. */
interface CheckedPart {
  readonly options: object
  readonly home: Place
  where(key: string): Place
}

interface CheckingOptions {
  readonly problems: Problems
  /** Whether logs that a process writes to are problems. */
  readonly alone: boolean
  /** Passed on to `checkUnlocked`. */
  readonly closes: boolean | undefined
}

/**
 * Finds what opening the parts of a plan would throw, and reports all of it. Brokers, stores and their files are replaced by
 * ones in memory, after a check of folders and files; what components acquire is opened, and closed by `end`.
 */
export class CheckingTransaction implements PlanTransaction {
  /** Redis servers, by URL and CA. */
  readonly stores = new Map<string, RedisServer>()
  /** The codes of the failures, the first one first. */
  readonly codes = new Set<FaultCode>()
  readonly #options: CheckingOptions
  readonly #parts = new Map<object, CheckedPart>()
  readonly #acquired = new Map<string, unknown>()
  readonly #closes: (() => unknown)[] = []
  /** The place of the part that is being opened. */
  #home: Place | undefined

  constructor(options: CheckingOptions) {
    this.#options = options
  }

  /** Lets a part be opened, whose options are right; others are left out. @param by what the plan has of it */
  allow(by: object, options: object, { home, where }: Omit<CheckedPart, "options">): void {
    this.#parts.set(by, { options, home, where })
  }

  acquire<T>({ name, open, close }: ResourceSpec<T>): T {
    if (this.#acquired.has(name)) return this.#acquired.get(name) as T
    const resource = open()
    this.#acquired.set(name, resource)
    this.#closes.push(() => close?.(resource, steadyMs()))
    return resource
  }

  onCommit(): void {}

  attempt<T>(parts: readonly object[], open: () => T): T | undefined {
    const [checked, ...others] = parts.map((it) => this.#parts.get(it))
    if (checked === undefined) return undefined
    this.#home = checked.home
    try {
      return open()
    } catch (error) {
      this.#report([checked, ...others.filter((it) => it !== undefined)], error)
      return undefined
    } finally {
      this.#home = undefined
    }
  }

  async connect(connection: Connection): Promise<Acquired> {
    const { kind, values } = connection
    const checked = this.#parts.get(connection)
    try {
      if (checked !== undefined) await kind.dryRun?.(values, (location) => this.#checkDatabase(location))
    } catch (error) {
      this.#report([checked!], error)
    }
    return unopened()
  }

  openKeys(location: Location): DedupeKeys {
    if (location.kind === "redis") this.needs(location)
    if (location.kind === "embedded") this.#checkDatabase(dedupeFileIn(location.directory))
    return new DedupeKeys(new MemoryKeys({ log: SILENT }))
  }

  /** Notes a Redis that has to be reached. */
  needs(server: RedisServer): void {
    this.stores.set(`${server.url} ${server.ca}`, server)
  }

  /** Reports what a component logs while it is created. */
  warn(text: string): void {
    if (this.#home !== undefined) this.#options.problems.warn(this.#home, text)
  }

  /** Closes what was opened. */
  end(): void {
    for (const close of this.#closes.splice(0)) close()
  }

  #checkDatabase(location: DatabaseLocation): void {
    checkDatabase(location)
    if (this.#options.alone) checkUnlocked(location, this.#options.closes)
  }

  #report(parts: readonly CheckedPart[], error: unknown): void {
    if (!(error instanceof HooklineError)) throw error
    this.codes.add(error.code)
    const { problems } = this.#options
    const { home } = parts[0]!
    const [name] = namesOf(error)
    if (!(error instanceof OptionError)) return problems.add(home, error.message, name)
    const { key, text, message } = error
    const owner = parts.find(({ options }) => key in options)
    if (owner === undefined) problems.add(home, message, name)
    // a file that can be read, and has a wrong content
    else problems.add(owner.where(key), text, name === "invalid_configuration" ? "invalid_value" : name)
  }
}

/** A connection of which nothing is open. */
export function unopened(): Acquired {
  const broker = new MemoryLog()
  return { broker, instance: broker }
}
