import type { Acquired, Connection } from "../brokers/define-connection.ts"
import type { DedupeKeys } from "../dedupe/dedupe-keys.ts"
import type { Location } from "../dedupe/location.ts"
import { dedupeKeysSpec } from "../dedupe/open-store.ts"
import { HooklineError } from "../errors.ts"
import { steadyMs } from "../clock/clock.ts"
import type { ResourceSpec } from "../pipeline/resource.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Connecting, PlanTransaction } from "./plan-transaction.ts"

/*
 * A resource is something open that outlives reloads: a connection, a spool, a store, a pipeline, the admin listener, a
 * component's state. A transaction acquires all resources of a configuration. The states of a resource:
 *
 *   opened  -- commit -->  active  -- commit without it -->  retired  -- last event -->  closing  -->  closed
 *      |                     ^                                 |
 *      +-- abort --> closed  +----- commit that acquired it ---+
 *
 * - opened: by the current transaction. Its commit makes it active, its abort closes it.
 * - active: acquired by the last committed transaction. Acquiring the same name with an equal config gives the same
 *   instance, with its parts: the resources acquired while it was opened. A commit retires what it did not acquire.
 * - retired: events from before the commit may still use it. It is closed once they have ended and no transaction is
 *   running; acquired again before that, it becomes active.
 * - closing: finishes its work until `untilMs`. The next transaction begins once it is closed, since only one instance can
 *   have a file open.
 */

interface Resource {
  readonly name: string
  readonly config: unknown
  readonly value: unknown
  readonly close: ((untilMs: number) => void | Promise<void>) | undefined
  readonly parts: readonly Resource[]
  readonly isPart: boolean
}

/** What was open when a transaction began: the active ones by name, and a few that may become active again. */
interface Open {
  readonly active: ReadonlyMap<string, Resource>
  readonly retired: readonly Resource[]
}

type Commit = {
  readonly acquired: ReadonlyMap<string, Resource>
  readonly unused: Promise<void>
  readonly drainMs: number
}

export class Resources {
  #active: ReadonlyMap<string, Resource> = new Map()
  readonly #retired = new Set<Resource>()
  readonly #closing = new Set<Promise<void>>()
  /** Resolves at the end of the current transaction; undefined: none. */
  #transaction: Promise<void> | undefined
  readonly #log: Pick<Logger, "error">

  constructor(log: Pick<Logger, "error">) {
    this.#log = log
  }

  /** Begins a transaction, one at a time. @param options `isStart`: see `Transaction.unopened` */
  async begin({ isStart = false } = {}): Promise<Transaction> {
    while (this.#closing.size > 0) await Promise.all(this.#closing)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#transaction = promise
    const end = (commit?: Commit): void => {
      if (commit !== undefined) void this.#commit(commit)
      this.#transaction = undefined
      resolve()
    }
    const open = { active: this.#active, retired: [...this.#retired] }
    return new Transaction(open, end, (opened) => this.#close(opened, steadyMs()), isStart)
  }

  /** Closes all, until `untilMs`; no transaction may be running. Rejects with the first failure once all were tried. */
  async close(untilMs: number): Promise<void> {
    const all = [...this.#active.values(), ...this.#retired]
    this.#active = new Map()
    this.#retired.clear()
    await closeAll(all, untilMs)
    await Promise.all(this.#closing)
  }

  async #commit({ acquired, unused, drainMs }: Commit): Promise<void> {
    const isActive = (it: Resource): boolean => acquired.get(it.name) === it
    const retired = [...this.#active.values()].filter((it) => it.close !== undefined && !isActive(it))
    this.#active = acquired
    for (const it of this.#retired) if (isActive(it)) this.#retired.delete(it)
    for (const it of retired) this.#retired.add(it)
    await unused
    while (this.#transaction !== undefined) await this.#transaction
    // without those that became active again
    const ending = retired.filter((it) => this.#retired.delete(it))
    const closing = this.#close(ending, steadyMs() + drainMs).finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  #close(all: readonly Resource[], untilMs: number): Promise<void> {
    return closeAll(all, untilMs).catch((err: unknown) =>
      this.#log.error({ err }, `${all.map(({ name }) => name).join(", ")} could not be closed`),
    )
  }
}

/** An atomic change of the open resources: committed or aborted. */
export class Transaction implements PlanTransaction {
  /** Resources of a start that could not be opened and try again by themselves, with the reason. */
  readonly unopened = new Map<unknown, HooklineError>()
  readonly #open: Open
  readonly #end: (commit?: Commit) => void
  readonly #close: (opened: readonly Resource[]) => Promise<void>
  readonly #acquired = new Map<string, Resource>()
  readonly #opened: Resource[] = []
  /** Parts of the resources being opened, the innermost last. */
  readonly #opening: Resource[][] = []
  readonly #committed: (() => void)[] = []
  readonly #aborted: (() => void)[] = []
  readonly #isStart: boolean

  constructor(
    open: Open,
    end: (commit?: Commit) => void,
    close: (opened: readonly Resource[]) => Promise<void>,
    isStart: boolean,
  ) {
    this.#open = open
    this.#end = end
    this.#close = close
    this.#isStart = isStart
  }

  /** The open instance of this name with an equal config, else a new one. Throws what `open` throws. */
  acquire<T>(spec: ResourceSpec<T>): T {
    const { name, config, fits } = spec
    const isUsable = (it: Resource): boolean => isEqual(it.config, config) && (fits?.(it.value as T) ?? true)
    const shared = this.#acquired.get(name)
    if (shared !== undefined && !isUsable(shared))
      throw new HooklineError("internal", `${name} is acquired with two configs`)
    const resource = shared ?? this.#findOpen(name, isUsable) ?? this.#openNew(spec)
    this.#opening.at(-1)?.push(resource)
    this.#add(resource)
    return resource.value as T
  }

  attempt<T>(_: readonly object[], open: () => T): T {
    return open()
  }

  connect({ kind, values }: Connection, { id, config, ...parts }: Connecting): Acquired | Promise<Acquired> {
    return kind.acquire({ id, values, config }, { ...parts, transaction: this })
  }

  openKeys(location: Location, log: Logger): DedupeKeys {
    return this.acquire(dedupeKeysSpec(location, log))
  }

  #findOpen(name: string, isUsable: (it: Resource) => boolean): Resource | undefined {
    const active = this.#open.active.get(name)
    if (active !== undefined && isUsable(active)) return active
    return this.#open.retired.find((it) => it.name === name && isUsable(it))
  }

  /** Registers an action of the commit; it must not throw. */
  onCommit(action: () => void): void {
    this.#committed.push(action)
  }

  /** Registers an action of the abort, before what was opened is closed; it must not throw. */
  onAbort(action: () => void): void {
    this.#aborted.push(action)
  }

  /**
   * @param unused resolves when no event uses the retired resources
   * @param drainMs time for their unfinished work after that
   */
  commit(unused: Promise<void>, drainMs: number): void {
    this.#end({ acquired: this.#acquired, unused, drainMs })
    for (const action of this.#committed.splice(0)) action()
  }

  /** Closes what was opened. Never rejects: the cause of the abort matters. */
  async abort(): Promise<void> {
    for (const action of this.#aborted.splice(0)) action()
    await this.#close(this.#opened)
    this.#end()
  }

  #add(resource: Resource): void {
    this.#acquired.set(resource.name, resource)
    for (const part of resource.parts) this.#add(part)
  }

  #openNew<T>(spec: ResourceSpec<T>): Resource {
    const { name, config, close } = spec
    const isPart = this.#opening.length > 0
    const parts: Resource[] = []
    this.#opening.push(parts)
    try {
      const value = this.#openNowOrLater(spec)
      const closeIt = close && ((untilMs: number) => close(value, untilMs))
      const resource = { name, config, value, close: closeIt, parts, isPart }
      this.#opened.push(resource)
      return resource
    } finally {
      this.#opening.pop()
    }
  }

  #openNowOrLater<T>({ open, retries = [] }: ResourceSpec<T>): T {
    try {
      return open()
    } catch (error) {
      if (!this.#isStart || !(error instanceof HooklineError) || !retries.includes(error.code)) throw error
      const value = open(error)
      this.unopened.set(value, error)
      return value
    }
  }
}

/** Closes all, parts last, since other resources may need them to end. Rejects with the first failure. */
async function closeAll(all: readonly Resource[], untilMs: number): Promise<void> {
  const { whole = [], parts = [] } = Object.groupBy(all, ({ isPart }) => (isPart ? "parts" : "whole"))
  const ends: PromiseSettledResult<void>[] = []
  for (const group of [whole, parts])
    ends.push(...(await Promise.allSettled(group.map(async ({ close }) => close?.(untilMs)))))
  const failed = ends.find((end) => end.status === "rejected")
  if (failed !== undefined) throw failed.reason
}

function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((it, at) => isEqual(it, b[at]))
  if (!isPlain(a) || !isPlain(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]))
  )
}

function isPlain(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
