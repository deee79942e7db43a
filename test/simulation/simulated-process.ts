/** The time of day at which each world begins, in milliseconds since 1970. */
export const BEGINS_MS = Date.UTC(2025, 0, 1)

/** The clocks of a machine, which its processes share. */
export class MachineClocks {
  /** By how much its time of day was set. */
  offsetMs = 0
  /** How often it was started again. */
  restarts = 0
  /** Its uptime when the world began, had it run since. */
  #aheadMs = 5_000_000

  /** It is started again. @param uptimeMs how long it has been up already when something of it runs */
  restart(nowMs: number, uptimeMs: number): void {
    this.restarts++
    this.#aheadMs = uptimeMs - nowMs
  }

  /** As src/clock/machine-clock.ts. */
  uptime(nowMs: number): { readonly boot: string; readonly ms: number } {
    return { boot: `start ${this.restarts}`, ms: this.#aheadMs + nowMs }
  }
}

/** What a process needs of its world. */
interface Timeline {
  readonly nowMs: number
  after(ms: number, run: () => void, process: SimulatedProcess): unknown
  tell(who: string, what: string): void
}

/** A process, or a thread of one: what its events schedule belongs to it. It can stall, be killed, and have its clock set. */
export class SimulatedProcess {
  readonly name: string
  isAlive = true
  /** Milliseconds since the world began. */
  stalledUntilMs = 0
  readonly clocks: MachineClocks
  readonly #world: Timeline
  readonly #onKilled: (() => void)[] = []

  constructor(world: Timeline, name: string, clocks = new MachineClocks()) {
    this.#world = world
    this.name = name
    this.clocks = clocks
  }

  /** What its clock shows, in milliseconds since 1970. */
  get timeOfDayMs(): number {
    return BEGINS_MS + this.#world.nowMs + this.clocks.offsetMs
  }

  /** Runs something as an event of the process, now or later. */
  run(event: () => void, afterMs = 0): void {
    this.#world.after(afterMs, event, this)
  }

  /** Nothing of it happens for so long: its events come late, in their order. */
  stall(ms: number): void {
    this.#world.tell(this.name, `stalls for ${ms} ms`)
    this.stalledUntilMs = Math.max(this.stalledUntilMs, this.#world.nowMs + ms)
  }

  /** Nothing of it happens any more. */
  kill(): void {
    if (!this.isAlive) return
    this.isAlive = false
    this.#world.tell(this.name, "killed")
    for (const onKilled of this.#onKilled) onKilled()
  }

  /** A thread ends with its process; the kernel closes sockets and files. */
  onKilled(run: () => void): void {
    this.#onKilled.push(run)
  }

  /** One that ends with this one. */
  thread(name: string): SimulatedProcess {
    const thread = new SimulatedProcess(this.#world, `${this.name}/${name}`, this.clocks)
    this.onKilled(() => thread.kill())
    return thread
  }
}
