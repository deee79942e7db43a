import { Database } from "bun:sqlite"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import type { Random } from "../support/random.ts"
import type { Machine } from "./machine.ts"
import type { World } from "./world.ts"

export type Crash = "kill" | "power"

/** Of everything that a disk and its neighbours do: how often in a thousand requests, or how many milliseconds apart. */
const KINDS = ["failing", "full", "stalling", "crashing", "threads", "locks", "readers", "slow"] as const
type Kind = (typeof KINDS)[number]

interface Neighbour {
  readonly db: Database
  readonly isReader: boolean
}

/** What goes wrong on a machine: with its disk, its files, its processes. A seed has some kinds, others not. */
export class DiskFaults {
  readonly #world: World
  readonly #machine: Machine
  readonly #random: Random
  readonly #kinds: ReadonlySet<Kind>
  readonly #neighbours = new Set<Neighbour>()
  #isHealed = false
  /** What the request under way ends with if the disk halts. */
  #ending: Crash | "thread" | undefined
  /** Of a disk that has halted: the crash that is to come. */
  #crashNow: (() => void) | undefined
  /** For how long the disk stands still, before it answers the request under way. */
  stallMs = 0

  constructor(world: World, machine: Machine) {
    this.#world = world
    this.#machine = machine
    this.#random = world.randomOf("disk faults")
    this.#kinds = new Set(KINDS.filter(() => this.#random.below(5) < 2))
    if (this.#kinds.has("full")) this.#every(4000, () => this.#fill())
    if (this.#kinds.has("locks")) this.#every(2000, () => this.#neighbour(false))
    if (this.#kinds.has("readers")) this.#every(1500, () => this.#neighbour(true))
    if (this.#kinds.has("crashing")) this.#every(5000, () => this.#machine.process && this.#machine.crash(this.#crash()))
  }

  /** No fault comes any more, and none lasts. */
  heal(): void {
    this.#isHealed = true
    this.crashNow()
    const { model } = this.#machine.disk
    model.fail(1, 0)
    model.limit(0)
    for (const neighbour of [...this.#neighbours]) this.#leave(neighbour)
  }

  /** Has the crash come that a halted disk stands for. @returns whether there was one */
  crashNow(): boolean {
    const crash = this.#crashNow
    crash?.()
    return crash !== undefined
  }

  beforeRequest(): void {
    this.stallMs = this.#has("stalling", 6) ? 200 + this.#random.below(5000) : 0
    if (this.#has("slow", 300)) this.stallMs += this.#random.below(60)
    this.#arm(30, 8)
    if (this.#has("threads", 8)) this.#halt("thread", 12)
  }

  /** @returns how it ended, if the disk halted */
  afterRequest(): Crash | "thread" | undefined {
    return this.#disarm()
  }

  beforeStart(): void {
    this.#arm(100, 40)
  }

  /** @returns whether the start has no end */
  afterStart(): boolean {
    return this.#disarm() !== undefined
  }

  /** The machine's process was killed, or all of its processes ended with the power. */
  crashed(kind: Crash): void {
    this.#crashNow = undefined
    for (const neighbour of [...this.#neighbours])
      if (kind === "power" || !neighbour.isReader) this.#leave(neighbour)
  }

  #has(kind: Kind, perMille: number): boolean {
    return !this.#isHealed && this.#kinds.has(kind) && this.#random.below(1000) < perMille
  }

  #arm(perMille: number, calls: number): void {
    const { model } = this.#machine.disk
    if (this.#has("failing", perMille))
      model.fail(1 + this.#random.below(calls), this.#random.pick([1, 1, 1, 2, 3, 5, 20]))
    if (this.#has("crashing", perMille)) this.#halt(this.#crash(), calls)
  }

  #halt(ending: Crash | "thread", calls: number): void {
    this.#ending = ending
    this.#machine.disk.model.halt(1 + this.#random.below(calls))
  }

  #disarm(): Crash | "thread" | undefined {
    const ending = this.#ending
    this.#ending = undefined
    const { model } = this.#machine.disk
    if (ending === undefined || !model.isHalted) {
      if (ending !== undefined) model.resume()
      return undefined
    }
    if (ending !== "thread") {
      // until then the disk does not answer
      const { process } = this.#machine
      this.#crashNow = () => {
        if (this.#machine.process === process) this.#machine.crash(ending)
      }
      this.#world.after(this.#random.pick([0, 1, 10, 3000]), this.#crashNow)
    }
    return ending
  }

  #crash(): Crash {
    return this.#random.pick(["kill", "power"])
  }

  #every(meanMs: number, happen: () => void): void {
    const next = (): void => {
      this.#world.after(this.#random.below(2 * meanMs), () => {
        if (this.#isHealed) return
        happen()
        next()
      })
    }
    next()
  }

  #fill(): void {
    const { disk } = this.#machine
    disk.model.limit(disk.usedBytes + this.#random.below(100_000))
    this.#world.tell("disk", "full")
    this.#world.after(100 + this.#random.below(3000), () => {
      if (!this.#isHealed) this.#machine.disk.model.limit(0)
      this.#world.tell("disk", "has space")
    })
  }

  /** Another process: a reader in a transaction, or one that has the write lock. */
  #neighbour(isReader: boolean): void {
    const { disk, process } = this.#machine
    const files = readdirSync(disk.folder).filter((name) => name.endsWith(".sqlite"))
    if (files.length === 0 || process === undefined || disk.model.isHalted) return
    const name = this.#random.pick(files)
    let db: Database | undefined
    try {
      db = new Database(join(disk.folder, name), isReader ? { readonly: true } : { readwrite: true })
      db.run(isReader ? "BEGIN" : "BEGIN IMMEDIATE")
      db.query("SELECT count(*) FROM sqlite_schema").get()
    } catch {
      // it is locked, or not there yet
      if (db !== undefined) this.#close(db)
      return
    }
    const neighbour = { db, isReader }
    this.#neighbours.add(neighbour)
    this.#world.tell("neighbour", `${isReader ? "reads" : "locks"} ${name}`)
    this.#world.after(5 + this.#random.below(this.#random.pick([50, 3000])), () => this.#leave(neighbour))
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
