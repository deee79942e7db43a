import { drainMicrotasks } from "bun:jsc"
import { Random } from "../support/random.ts"
import { EventQueue, type QueuedEvent } from "./event-queue.ts"
import { SimulatedProcess, type MachineClocks } from "./simulated-process.ts"

interface WorldEvent extends QueuedEvent {
  readonly process: SimulatedProcess | undefined
  /** Undefined: cancelled. */
  run: (() => void) | undefined
}

/** A promise of the simulation was broken: what `check` and the parts under test report. */
export interface Violation {
  readonly atMs: number
  /** How many events had happened. */
  readonly steps: number
  readonly what: string
}

/**
 * One run of a simulation: virtual time, everything that is to happen in it, and what has happened.
 *
 *     import "./simulated-globals.ts" // first, before anything of src/
 *     const world = new World(seed)
 *     const service = world.process("hookline")
 *     service.run(() => { … the code under test: its timers, Date.now() and Math.random() are the world's … })
 *     world.after(500, () => service.stall(200))        // the model's own events belong to no process
 *     world.onStep = () => { … look at invariants; world.violate("…") … }
 *     world.runUntil(10_000)
 *     world.violations, world.history(), world.hash()
 *
 * Events run one after the other, each at its time, and after each all microtasks and `process.nextTick`s are drained, in
 * the same call: nothing of a run depends on the real event loop, and a seed has the same history each time. What an event
 * of a process schedules (setTimeout, setImmediate, …) belongs to that process: it is late while the process stalls, and
 * never comes once it was killed. A model (a disk, a thread, a network) schedules with `after`, and calls back into the
 * process with `process.run`.
 *
 * Randomness: `randomOf(name)` for each part of a model, so that one more draw here does not change all that follows there.
 */
export class World {
  readonly seed: number
  readonly violations: Violation[] = []
  /** Called after each event. */
  onStep: (() => void) | undefined
  /** Whose event runs. */
  current: SimulatedProcess | undefined
  steps = 0
  readonly #queue = new EventQueue<WorldEvent>()
  readonly #lines: string[] = []
  readonly #randoms = new Map<string, Random>()
  #nowUs = 0
  #order = 0

  constructor(seed: number) {
    this.seed = seed
  }

  /** Milliseconds since the world began. */
  get nowMs(): number {
    return this.#nowUs / 1000
  }

  /** Numbers for one part of the model, the same for the same seed and name. */
  randomOf(name: string): Random {
    return this.#randoms.getOrInsertComputed(name, () => new Random(this.seed ^ Bun.hash.crc32(name)))
  }

  /** @param clocks of its machine; absent: its own */
  process(name: string, clocks?: MachineClocks): SimulatedProcess {
    return new SimulatedProcess(this, name, clocks)
  }

  /** Has something happen later. @param process whose event it is; undefined: the model's own */
  after(ms: number, run: () => void, process?: SimulatedProcess): WorldEvent {
    const event = {
      atUs: this.#nowUs + Math.max(0, Math.round(ms * 1000)),
      order: this.#order++,
      process,
      run,
    }
    this.#queue.add(event)
    return event
  }

  cancel(event: WorldEvent): void {
    event.run = undefined
  }

  /** How much a process has scheduled: what leaks shows here. */
  scheduledBy(process: SimulatedProcess): number {
    let count = 0
    for (const event of this.#queue) if (event.process === process && event.run !== undefined) count++
    return count
  }

  /** Has everything happen up to a time, in milliseconds since the world began. @param isDone ends it before */
  runUntil(ms: number, isDone?: () => boolean): void {
    const before = active
    activate(this)
    try {
      const endUs = ms * 1000
      for (;;) {
        const next = this.#queue.first()
        if (next === undefined || next.atUs > endUs || isDone?.() === true) break
        if (this.steps >= MOST_STEPS) {
          this.violate(`${MOST_STEPS} steps: something is repeated without end`)
          break
        }
        this.#queue.take()
        this.#happen(next)
      }
      if (isDone === undefined) this.#nowUs = Math.max(this.#nowUs, endUs)
    } finally {
      activate(before)
    }
  }

  /** Writes a line of the history. */
  tell(who: string, what: string): void {
    this.#lines.push(`${this.nowMs.toFixed(3).padStart(10)}  ${who.padEnd(12)} ${what}`)
  }

  violate(what: string): void {
    this.tell("VIOLATION", what)
    this.violations.push({ atMs: this.nowMs, steps: this.steps, what })
  }

  /** What happened, in lines: milliseconds since the world began, who, what. */
  history(): string {
    return this.#lines.join("\n")
  }

  /** Hashes the history and the number of steps: equal for equal runs. */
  hash(): string {
    return Bun.hash(`${this.steps} ${this.#nowUs}\n${this.history()}`).toString(16)
  }

  #happen(event: WorldEvent): void {
    const { process, run } = event
    if (run === undefined || process?.isAlive === false) return
    const stalledUntilUs = Math.round((process?.stalledUntilMs ?? 0) * 1000)
    if (stalledUntilUs > event.atUs) {
      // what was due before goes before, so it keeps its place among those of the same time
      event.atUs = stalledUntilUs
      this.#queue.add(event)
      return
    }
    this.#nowUs = event.atUs
    this.current = process
    this.steps++
    // so that a timer that cancels itself, or comes again, finds it done
    event.run = undefined
    try {
      run()
    } catch (error) {
      this.violate(`${process?.name ?? "the model"} threw ${Bun.inspect(error)}`)
    }
    drainMicrotasks()
    this.current = undefined
    this.onStep?.()
  }
}

/** The most steps of a run; most runs have some thousands. */
const MOST_STEPS = 100_000

let active: World | undefined

function activate(world: World | undefined): void {
  active = world
}

/** The one that runs now. */
export const activeWorld = (): World | undefined => active
