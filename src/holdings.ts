import { HooklineError } from "./errors.ts"
import { steadyMs } from "./steady-clock.ts"

/** Something that is to be open. */
export interface Wanted<T> {
  /** Tells it from others. What is wanted twice by one name is shared. */
  readonly name: string
  /** What it is made for: plain data is compared by value, everything else by identity. */
  readonly wants: unknown
  readonly open: () => T
  /**
   * Lets go of it. Things without it need no closing.
   *
   * @param untilMs the time, by the steady clock, until which it may go on with work that would else be left undone
   */
  readonly close?: (thing: T, untilMs: number) => void | Promise<void>
  /** Whether one that was opened for equal wants can still be used. */
  readonly fits?: (thing: T) => boolean
}

interface Held {
  readonly name: string
  readonly wants: unknown
  readonly thing: unknown
  readonly close: ((untilMs: number) => void | Promise<void>) | undefined
  /** What was held while it was opened: it is kept with it. */
  readonly parts: readonly Held[]
  /** Whether it was held while something else was opened. */
  readonly isPart: boolean
}

/**
 * What is open and goes on through a change of the configuration: connections, pipelines, and what their components
 * remember. One rule is for all of them: what is wanted again, by the same name and for equal wants, stays the same
 * instance, and with it what was held while it was opened; what is not wanted any more is closed when the events that may
 * use it have ended.
 */
export class Holdings {
  #held: ReadonlyMap<string, Held> = new Map()
  /** Not wanted any more, and still used by events on their way. */
  readonly #leaving = new Set<Held>()
  readonly #closing = new Set<Promise<void>>()
  /** Resolves at the end of the change that is under way; undefined: there is none. */
  #changing: Promise<void> | undefined
  readonly #failed: (name: string, error: unknown) => void

  /** @param failed is told of what could not be closed after a change */
  constructor(failed: (name: string, error: unknown) => void) {
    this.#failed = failed
  }

  /**
   * Begins a change, one at a time, when what is being closed at the moment is closed: it may be wanted back, and one alone
   * can have it open. Until the end of the change nothing that is open is touched, nor closed.
   */
  async begin(): Promise<Changeover> {
    while (this.#closing.size > 0) await Promise.all(this.#closing)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#changing = promise
    return new Changeover(this.#held, this.#leaving, {
      commit: (next, unused, drainMs) => this.#commit(next, unused, drainMs),
      ended: () => {
        this.#changing = undefined
        resolve()
      },
    })
  }

  /**
   * Closes everything, while no change is under way. Rejects with the first failure, after all were tried.
   *
   * @param untilMs as for `Wanted.close`
   */
  async close(untilMs: number): Promise<void> {
    const all = [...this.#held.values(), ...this.#leaving]
    this.#held = new Map()
    this.#leaving.clear()
    await closeAll(all, untilMs)
    await Promise.all(this.#closing)
  }

  #commit(next: ReadonlyMap<string, Held>, unused: Promise<void>, drainMs: number): void {
    const kept = new Set(next.values())
    const gone = [...this.#held.values()].filter((held) => !kept.has(held) && held.close !== undefined)
    this.#held = next
    for (const held of kept) this.#leaving.delete(held)
    for (const held of gone) this.#leaving.add(held)
    void this.#endWhen(unused, gone, drainMs)
  }

  async #endWhen(unused: Promise<void>, gone: readonly Held[], drainMs: number): Promise<void> {
    await unused
    // a change that is under way may have taken it back
    while (this.#changing !== undefined) await this.#changing
    // what was let go and is wanted back by then is not leaving any more
    this.#end(
      gone.filter((held) => this.#leaving.delete(held)),
      steadyMs() + drainMs,
    )
  }

  #end(gone: readonly Held[], untilMs: number): void {
    const closing = closeAll(gone, untilMs)
      .catch((error: unknown) => this.#failed(gone.map(({ name }) => name).join(", "), error))
      .finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}

/** What a change tells the holdings that it is of. */
interface Ends {
  readonly commit: (next: ReadonlyMap<string, Held>, unused: Promise<void>, drainMs: number) => void
  /** It was committed or aborted. */
  readonly ended: () => void
}

/** A change of what is open, all or nothing. To be committed or aborted. */
export class Changeover {
  readonly #held: ReadonlyMap<string, Held>
  /** What is leaving, by name. */
  readonly #leaving: ReadonlyMap<string, readonly Held[]>
  readonly #ends: Ends
  readonly #next = new Map<string, Held>()
  readonly #opened: Held[] = []
  /** The parts of what is being opened at the moment, the innermost last. */
  readonly #opening: Held[][] = []

  /** For Holdings. */
  constructor(held: ReadonlyMap<string, Held>, leaving: ReadonlySet<Held>, ends: Ends) {
    this.#held = held
    this.#leaving = Map.groupBy(leaving, ({ name }) => name)
    this.#ends = ends
  }

  /** What is open by this name for equal wants, else a new one. Throws what opening it throws. */
  hold<T>({ name, wants, open, close, fits }: Wanted<T>): T {
    const isRight = (held: Held): boolean => isSame(held.wants, wants) && (fits?.(held.thing as T) ?? true)
    const shared = this.#next.get(name)
    if (shared !== undefined && !isRight(shared))
      throw new HooklineError("internal", `${name} is held for two purposes`)
    const held =
      shared ??
      [this.#held.get(name) ?? [], this.#leaving.get(name) ?? []].flat().find(isRight) ??
      this.#open(name, wants, open, close)
    this.#opening.at(-1)?.push(held)
    this.#take(held)
    return held.thing as T
  }

  /**
   * @param unused resolves when nothing uses what was held before and is not wanted any more
   * @param drainMs for how long that may go on from then with work that would else be left undone
   */
  commit(unused: Promise<void>, drainMs: number): void {
    this.#ends.commit(this.#next, unused, drainMs)
    this.#ends.ended()
  }

  /** Closes what was opened for this change. */
  async abort(): Promise<void> {
    try {
      await closeAll(this.#opened, steadyMs())
    } finally {
      this.#ends.ended()
    }
  }

  #take(held: Held): void {
    this.#next.set(held.name, held)
    for (const part of held.parts) this.#take(part)
  }

  #open<T>(name: string, wants: unknown, open: () => T, close: Wanted<T>["close"]): Held {
    const isPart = this.#opening.length > 0
    const parts: Held[] = []
    this.#opening.push(parts)
    try {
      const thing = open()
      const held = {
        name,
        wants,
        thing,
        close: close && ((untilMs: number) => close(thing, untilMs)),
        parts,
        isPart,
      }
      this.#opened.push(held)
      return held
    } finally {
      this.#opening.pop()
    }
  }
}

/**
 * Closes all, whatever becomes of each; parts last, since what others end with may be told to them. Rejects with the first
 * failure.
 */
async function closeAll(all: readonly Held[], untilMs: number): Promise<void> {
  const { whole = [], parts = [] } = Object.groupBy(all, ({ isPart }) => (isPart ? "parts" : "whole"))
  const ends: PromiseSettledResult<void>[] = []
  for (const group of [whole, parts])
    ends.push(...(await Promise.allSettled(group.map(async ({ close }) => close?.(untilMs)))))
  const failed = ends.find((end) => end.status === "rejected")
  if (failed !== undefined) throw failed.reason
}

function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (!isPlain(a) || !isPlain(b) || Array.isArray(a) !== Array.isArray(b)) return false
  const [ofA, ofB] = [Object.entries(a), Object.entries(b)]
  return (
    ofA.length === ofB.length && ofA.every(([key, value]) => Object.hasOwn(b, key) && isSame(value, b[key]))
  )
}

function isPlain(value: unknown): value is { readonly [key: string]: unknown } {
  if (typeof value !== "object" || value === null) return false
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
}
