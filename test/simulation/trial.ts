import "./simulated-globals.ts"
import "./simulated-thread.ts"
import { rmSync } from "node:fs"
import { HooklineError } from "../../src/errors.ts"
import type { Random } from "../support/random.ts"
import { Machine } from "./machine.ts"
import type { SimulatedProcess } from "./simulated-process.ts"
import { World } from "./world.ts"

/** Faults come for so long; then all must be well again soon. */
export const FAULTY_MS = 4000
const HEALED_MS = 5000
/** After the faults, before it is tried whether all is well. */
const RECOVERY_MS = 2500
/** How late a deadline may be noticed: a sweep of 10 ms, and a turn. */
const LATE_MS = 12
/** A stop waits for deadlines, then 2 s for the disk. */
const STOP_MS = 8000
/** Requests that wait for a thread: more come only with more events. */
const MOST_QUEUED = 50

/** What a trial has a service do, and what must be true of it. */
export interface Subject<S> {
  /** Opens the service in a new process. */
  open(machine: Machine): S
  ready(service: S): true | string
  close(service: S): Promise<void>
  /** Its process has ended. */
  ended?(): void
  /** Reports what is wrong with what a power cut leaves in a folder. */
  check(folder: string, when: string): void
  /** Everything works again. */
  heal?(): void
  /** Reports what is wrong after that, when it had the time to recover. */
  checkHealed?(service: S): void
}

/** A service on a machine with faults, until they end and it must work again. */
export class Trial<S> {
  readonly world: World
  readonly random: Random
  readonly machine: Machine
  service: S | undefined
  readonly #subject: Subject<S>

  constructor(seed: number, subject: (trial: Trial<S>) => Subject<S>) {
    this.world = new World(seed)
    this.random = this.world.randomOf("trial")
    this.#subject = subject(this)
    this.machine = new Machine(this.world, "hookline", {
      start: () => {
        this.service = this.#subject.open(this.machine)
      },
      ended: () => {
        this.service = undefined
        this.#subject.ended?.()
        this.#checkCut("after a crash")
      },
      mayFail: (error) => error instanceof HooklineError && ["log_io", "log_locked"].includes(error.code),
    })
  }

  /**
   * Has the service do something, as an event of its process.
   *
   * @param done called once: when that has ended, or the process, or there is no service
   */
  call(run: (service: S, process: SimulatedProcess) => Promise<void>, done: () => void): void {
    const { process } = this.machine
    if (process === undefined || this.service === undefined) return void this.world.after(100, done)
    let isDone = false
    const end = (): void => {
      if (!isDone) this.world.after(0, done)
      isDone = true
    }
    process.onKilled(end)
    process.run(() => {
      if (this.service === undefined) return end()
      run(this.service, process).then(end, (error: unknown) => {
        this.world.violate(`call: ${Bun.inspect(error)}`)
        end()
      })
    })
  }

  /**
   * Reports a call that is not answered by its deadline.
   *
   * @param deadlineMs in milliseconds since the world began
   * @returns to be called when it was
   */
  expectBy(deadlineMs: number, what: string, process: SimulatedProcess): () => void {
    let isOver = false
    const check = (): void => {
      const lateMs = this.world.nowMs - Math.max(deadlineMs, process.stalledUntilMs)
      if (lateMs > LATE_MS) this.world.violate(`${what} is ${lateMs.toFixed(1)} ms behind its deadline`)
    }
    const again = (): void => {
      if (isOver || !process.isAlive) return
      check()
      if (process.stalledUntilMs > this.world.nowMs) this.world.after(process.stalledUntilMs - this.world.nowMs + LATE_MS + 1, again)
    }
    this.world.after(deadlineMs - this.world.nowMs + LATE_MS + 1, again)
    return () => {
      if (!isOver) check()
      isOver = true
    }
  }

  /** A sender: does one thing after the other while there are faults. */
  repeat(meanPauseMs: number, act: (done: () => void) => void): void {
    const next = (): void => {
      if (this.world.nowMs < FAULTY_MS) act(() => this.world.after(this.random.below(2 * meanPauseMs), next))
    }
    this.world.after(this.random.below(100), next)
  }

  /** @param tryOut does something that succeeds once all is well */
  run(tryOut: (succeeded: () => void, done: () => void) => void): World {
    const { world, machine, random } = this
    machine.start()
    for (let cut = 0; cut < 3; cut++) world.after(random.below(FAULTY_MS), () => this.#checkCut("power cut"))
    if (random.below(3) === 0) world.after(random.below(FAULTY_MS), () => this.#stop())
    if (random.below(4) === 0) this.#stall()
    world.after(FAULTY_MS, () => {
      world.tell("world", "heals")
      machine.faults.heal()
      this.#subject.heal?.()
    })
    let isWell = false
    const again = (): void => {
      if (isWell || world.nowMs > FAULTY_MS + HEALED_MS) return
      tryOut(
        () => (isWell = true),
        () => world.after(50, again),
      )
    }
    world.after(FAULTY_MS + RECOVERY_MS, again)
    world.after(FAULTY_MS + HEALED_MS, () => {
      if (!isWell) world.violate("nothing works although all faults are over")
      const ready = this.service === undefined ? "it does not run" : this.#subject.ready(this.service)
      if (ready !== true) world.violate(`it is not ready: ${ready}`)
      if (this.service !== undefined) this.#subject.checkHealed?.(this.service)
      this.#checkCut("at the end")
    })
    world.runUntil(FAULTY_MS + HEALED_MS)
    if (machine.longestQueue > MOST_QUEUED) world.violate(`${machine.longestQueue} requests waited for a thread`)
    machine.remove()
    return world
  }

  #checkCut(when: string): void {
    const { disk } = this.machine
    const folder = disk.copyAfterCut(this.random.pick(["none", "some", "all"]))
    try {
      this.#subject.check(folder, when)
    } catch (error) {
      this.world.violate(`${when}: ${String(error).replaceAll(folder, "")}`)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  /** An orderly stop, and a start behind it. */
  #stop(): void {
    const { world, machine, service } = this
    const { process } = machine
    if (process === undefined || service === undefined) return
    world.tell("hookline", "stops")
    process.run(() => {
      void this.#subject.close(service).then(() => {
        world.tell("hookline", "stopped")
        if (machine.process === process) machine.exit()
      })
    })
    world.after(STOP_MS, () => {
      if (process.isAlive) world.violate(`a stop took more than ${STOP_MS} ms`)
    })
  }

  /** Its event loop stands still, or its clock is set. */
  #stall(): void {
    const { world, machine, random } = this
    world.after(random.below(2000), () => {
      const { process } = machine
      if (world.nowMs > FAULTY_MS) return
      if (random.below(2) === 0) process?.stall(random.below(1500))
      else if (process !== undefined) {
        process.clockOffsetMs = random.below(20_000) - 10_000
        world.tell("clock", `is set by ${process.clockOffsetMs} ms`)
      }
      this.#stall()
    })
  }
}
