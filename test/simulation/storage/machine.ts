import type { Random } from "../../support/random.ts"
import { Faults } from "./faults.ts"
import { closeDatabases } from "./open-databases.ts"
import { SimulatedDisk } from "./disk.ts"
import { MachineClocks, type SimulatedProcess } from "../simulated-process.ts"
import type { Crash } from "./scenario.ts"
import type { World } from "../world.ts"

export interface MachineDependencies {
  /** Starts the service, as an event of a new process. What it throws ends the process. */
  readonly start: (process: SimulatedProcess) => void
  /** The process is no more. */
  readonly ended: () => void
  /** Whether a start may fail like this: it is repeated then. */
  readonly mayFail: (error: unknown) => boolean
  /** When all faults are over. */
  readonly healMs: number
}

const machines = new WeakMap<SimulatedProcess, Machine>()

/** A machine with a disk, on which a service is started again whenever its process has ended. */
export class Machine {
  readonly disk: SimulatedDisk
  readonly faults: Faults
  readonly clocks = new MachineClocks()
  readonly #world: World
  readonly #name: string
  readonly #random: Random
  readonly #deps: MachineDependencies
  process: SimulatedProcess | undefined
  starts = 0
  /** The longest queue of a thread's requests. */
  longestQueue = 0

  constructor(world: World, name: string, deps: MachineDependencies) {
    this.#world = world
    this.#name = name
    this.#random = world.randomOf(`machine ${name}`)
    this.#deps = deps
    this.disk = new SimulatedDisk(world, name)
    this.faults = new Faults(world, this, deps.healMs)
  }

  /** The machine that a process runs on. */
  static of(process: SimulatedProcess): Machine {
    return machines.get(process)!
  }

  start(afterMs = 0): void {
    const process = this.#world.process(this.#name, this.clocks)
    machines.set(process, this)
    process.onKilled(() => closeDatabases(process))
    this.process = process
    process.run(() => {
      this.starts++
      this.faults.begin()
      const costMs = this.disk.measure()
      let problem: unknown
      try {
        this.#deps.start(process)
      } catch (error) {
        problem = error
      }
      process.stall(Math.ceil(costMs()))
      if (this.#halted(this.faults.end()) || problem === undefined) return
      this.#world.tell(this.#name, `did not start: ${String(problem).replaceAll(this.disk.folder, "")}`)
      if (!this.#deps.mayFail(problem)) this.#world.violate(`start: ${Bun.inspect(problem)}`)
      this.exit()
    }, afterMs)
  }

  /** The process ends by itself, and is started again. */
  exit(): void {
    if (this.faults.crashNow()) return
    this.process?.kill()
    this.#ended()
  }

  /** It ends in the middle of whatever it does, and is started again. */
  crash(kind: Crash): void {
    this.#world.tell(this.#name, kind === "power" ? "power cut" : "kill -9")
    this.disk.model.halt(0)
    this.faults.crashed(kind)
    this.process?.kill()
    if (kind === "power") {
      this.disk.cutPower()
      this.clocks.restart(this.#world.nowMs, this.#random.pick([1000, 9_000_000]))
    } else this.disk.model.resume()
    this.#ended()
  }

  /** A start has no threads that could crash alone. */
  #halted(ending: ReturnType<Faults["end"]>): boolean {
    if (ending === "thread") this.crash("kill")
    return ending !== undefined
  }

  noteQueue(length: number): void {
    this.longestQueue = Math.max(this.longestQueue, length)
  }

  /** Ends everything. */
  remove(): void {
    this.disk.model.halt(0)
    this.faults.crashed("power")
    this.process?.kill()
    this.disk.remove()
  }

  #ended(): void {
    this.process = undefined
    this.#deps.ended()
    this.start(20 + this.#random.below(this.#random.below(2) === 0 ? 100 : 2000))
  }
}
