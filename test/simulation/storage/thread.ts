import { openDatabase } from "../../../src/runtime/open-database.ts"
import { serveDatabase } from "../../../src/storage/serve-database.ts"
import { Machine } from "./machine.ts"
import { closeDatabases } from "./open-databases.ts"
import type { SimulatedProcess } from "../simulated-process.ts"
import { activeWorld, type World } from "../world.ts"

type Listener = (event: never) => void

/** What a message between threads takes, in milliseconds. */
const MESSAGE_MS = 0.02

/**
 * In the place of `Worker`: the real program of a database's thread, in a simulated thread. A request is served at once, on
 * the real files; its answer comes when the disk would have done its work.
 */
class SimulatedThread {
  readonly #world: World
  readonly #owner: SimulatedProcess
  readonly #thread: SimulatedProcess
  readonly #machine: Machine
  readonly #listeners = new Map<string, Listener[]>()
  #serve: Listener | undefined
  readonly #requests: unknown[] = []
  #isBusy = false
  #busyUntilMs = 0
  #isTerminated = false
  /** What the requests under way have cost, and the answers to them. */
  #costMs: (() => number) | undefined

  constructor() {
    this.#world = activeWorld()!
    this.#owner = this.#world.current!
    this.#machine = Machine.of(this.#owner)
    this.#thread = this.#owner.thread("database")
    this.#thread.onKilled(() => closeDatabases(this.#thread))
    serveDatabase(openDatabase, {
      addEventListener: (_: string, listener: Listener) => (this.#serve = listener),
      postMessage: (answer: unknown, transfer: ArrayBuffer[]) => this.#answer(answer, transfer),
    } as never)
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener])
  }

  postMessage(request: unknown, transfer: ArrayBuffer[] = []): void {
    this.#requests.push(structuredClone(request, { transfer }))
    this.#machine.noteQueue(this.#requests.length)
    this.#thread.run(() => this.#next(), MESSAGE_MS)
  }

  /** As Worker: ends it as soon as the call that it is in returns. */
  terminate(): void {
    if (!this.#thread.isAlive || this.#isTerminated) return
    this.#isTerminated = true
    if (this.#isBusy && this.#machine.disk.model.isHalted) return
    const end = (): void => {
      this.#thread.kill()
      this.#owner.run(() => this.#emit("close", {}))
    }
    this.#world.after(Math.max(0, this.#busyUntilMs - this.#world.nowMs), end, this.#thread)
  }

  #next(): void {
    const { disk, faults } = this.#machine
    if (this.#isBusy || this.#isTerminated || this.#requests.length === 0 || disk.model.isHalted) return
    this.#isBusy = true
    const data = this.#requests.shift()
    faults.begin()
    this.#costMs = disk.measure()
    this.#serve!({ data } as never)
    const ms = faults.stallMs + this.#costMs()
    if (faults.end() === "thread") return this.#crash()
    if (disk.model.isHalted) return
    this.#busyUntilMs = this.#world.nowMs + ms
    this.#world.after(
      ms,
      () => {
        this.#isBusy = false
        this.#thread.run(() => this.#next())
      },
      this.#thread,
    )
  }

  #answer(answer: unknown, transfer: ArrayBuffer[]): void {
    // the call that the disk halted at never returns
    if (this.#machine.disk.model.isHalted) return
    const data = structuredClone(answer, { transfer })
    const stallMs = this.#machine.faults.stallMs
    this.#world.after(
      stallMs + this.#costMs!(),
      () => this.#owner.run(() => this.#emit("message", { data }), MESSAGE_MS),
      this.#thread,
    )
  }

  /** In the middle of a call: its files are closed as they are. */
  #crash(): void {
    this.#world.tell(this.#thread.name, "crashed")
    this.#thread.kill()
    this.#machine.disk.model.resume()
    this.#owner.run(() => this.#emit("error", { message: "simulated crash" }), 1)
  }

  #emit(type: string, event: object): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event as never)
  }
}

Object.assign(globalThis, { Worker: SimulatedThread })
