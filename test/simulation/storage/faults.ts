import { Database } from "bun:sqlite"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import type { World } from "../world.ts"
import type { SimulatedDisk } from "./disk.ts"
import type { SimulatedProcess } from "../simulated-process.ts"
import type { Crash, Step } from "./scenario.ts"

type Ending = Crash | "thread"
type DiskFault = Extract<Step, { do: "fail" | "halt" | "stall disk" }>

/** The machine that the faults are of. */
interface FaultyMachine {
  readonly disk: SimulatedDisk
  readonly process: SimulatedProcess | undefined
  crash(kind: Crash): void
}

interface Neighbour {
  readonly db: Database
  readonly isReader: boolean
}

/** Pause between reads that fail, shorter than that before a file is opened again. */
const READS_AGAIN_MS = 250

/** What goes wrong with a machine's disk and its files. */
export class Faults {
  readonly #world: World
  readonly #machine: FaultyMachine
  readonly #healMs: number
  readonly #neighbours = new Set<Neighbour>()
  /** Faults of the next requests, or starts. */
  #armed: DiskFault[] = []
  #slowMs = 0
  /** How many calls will have failed by the next fault. */
  #failedBy = 0
  /** What the request under way ends with if the disk halts. */
  #halting: Extract<Step, { do: "halt" }> | undefined
  /** The crash that is to come of a disk that has halted. */
  #crashNow: (() => void) | undefined
  /** For how long the disk stands still before it answers the request under way. */
  stallMs = 0

  /** @param healMs when all of it is over */
  constructor(world: World, machine: FaultyMachine, healMs: number) {
    this.#world = world
    this.#machine = machine
    this.#healMs = healMs
  }

  arm(fault: DiskFault): void {
    this.#armed.push(fault)
  }

  slow(ms: number, forMs: number): void {
    this.#slowMs = ms
    this.#world.after(forMs, () => (this.#slowMs = 0))
  }

  /** Has reads fail, from the n-th that comes now; more than one fail again and again. */
  failReads(n: number, count: number, forMs: number): void {
    const isOver = forMs <= 0 || this.#world.nowMs >= this.#healMs
    this.#machine.disk.model.failReads(n, isOver ? 0 : count)
    if (isOver) return
    const againMs = count > 1 ? Math.min(forMs, READS_AGAIN_MS) : forMs
    this.#world.after(againMs, () => this.failReads(n, count, forMs - againMs))
  }

  fill(leftBytes: number, forMs: number): void {
    const { disk } = this.#machine
    disk.model.limit(disk.usedBytes + leftBytes)
    this.#world.after(forMs, () => this.#machine.disk.model.limit(0))
  }

  /** No fault is left. */
  heal(): void {
    this.#armed = []
    this.#slowMs = 0
    this.crashNow()
    const { model } = this.#machine.disk
    model.fail(1, 0)
    model.failReads(1, 0)
    model.limit(0)
    for (const neighbour of this.#neighbours) this.#leave(neighbour)
  }

  /** Has the crash come that a halted disk stands for. @returns whether there was one */
  crashNow(): boolean {
    const crash = this.#crashNow
    crash?.()
    return crash !== undefined
  }

  /** Before a request is served, or the service starts. */
  begin(): void {
    this.stallMs = this.#slowMs
    const { model } = this.#machine.disk
    // what follows a failure comes after it
    if (model.failed() < this.#failedBy) return
    const fault = this.#armed.shift()
    if (fault?.do === "fail") {
      model.fail(fault.call, fault.count)
      this.#failedBy = model.failed() + fault.count
    }
    if (fault?.do === "stall disk")
      this.stallMs += Math.max(0, Math.min(fault.forMs, this.#healMs - this.#world.nowMs))
    if (fault?.do !== "halt") return
    this.#halting = fault
    model.halt(fault.call)
  }

  /** @returns how it ended, if the disk halted */
  end(): Ending | undefined {
    const halting = this.#halting
    this.#halting = undefined
    if (halting === undefined) return undefined
    const { model } = this.#machine.disk
    if (!model.isHalted) {
      model.resume()
      return undefined
    }
    const { ending, forMs } = halting
    if (ending === "thread") return ending
    // until then the disk does not answer
    const { process } = this.#machine
    this.#crashNow = () => {
      if (this.#machine.process === process) this.#machine.crash(ending)
    }
    this.#world.after(forMs, this.#crashNow)
    return ending
  }

  /** The machine's process was killed, or all of its processes ended with the power. */
  crashed(kind: Crash): void {
    this.#crashNow = undefined
    this.#failedBy = 0
    for (const neighbour of this.#neighbours)
      if (kind === "power" || !neighbour.isReader) this.#leave(neighbour)
  }

  /** Another process: a reader in a transaction, or one that has the write lock. */
  neighbour(isReader: boolean, file: number, forMs: number): void {
    const { disk, process } = this.#machine
    const files = readdirSync(disk.folder).filter((name) => name.endsWith(".sqlite"))
    if (files.length === 0 || process === undefined || disk.model.isHalted) return
    let db: Database | undefined
    try {
      db = new Database(
        join(disk.folder, files.toSorted()[file % files.length]!),
        isReader ? { readonly: true } : { readwrite: true },
      )
      db.run(isReader ? "BEGIN" : "BEGIN IMMEDIATE")
      db.query("SELECT count(*) FROM sqlite_schema").get()
    } catch {
      // it is locked, or not there yet
      if (db !== undefined) this.#close(db)
      return
    }
    const neighbour = { db, isReader }
    this.#neighbours.add(neighbour)
    this.#world.after(forMs, () => this.#leave(neighbour))
  }

  #leave(neighbour: Neighbour): void {
    if (!this.#neighbours.delete(neighbour)) return
    this.#world.tell("neighbour", neighbour.isReader ? "has read" : "unlocks")
    this.#close(neighbour.db)
  }

  /** As when its process is killed: without a checkpoint. */
  #close(db: Database): void {
    const { model } = this.#machine.disk
    const wasHalted = model.isHalted
    if (!wasHalted) model.halt(0)
    try {
      db.close(true)
    } catch {
      // its disk is halted; the descriptors are closed
    }
    if (!wasHalted) model.resume()
  }
}
