import "../simulated-globals.ts"
import "./thread.ts"
import { rmSync } from "node:fs"
import { HooklineError } from "../../../src/errors.ts"
import type { Random } from "../../support/random.ts"
import type { Outcome } from "../simulation.ts"
import type { SimulatedProcess } from "../simulated-process.ts"
import { World } from "../world.ts"
import { Machine } from "./machine.ts"
import type { Sector, Step, StorageScenario } from "./scenario.ts"

export type Publish = Extract<Step, { do: "publish" }>
type Fault = Exclude<Step, Publish>

/** After healing: until it is tried whether all is well, and until it must be. */
const RECOVERY_MS = 1500
const WELL_MS = 1500
/** How late a deadline may be noticed: a sweep of 10 ms, and a turn. */
const LATE_MS = 12
/** A stop waits for deadlines, then 2 s for the disk. */
const STOP_MS = 8000
/** Requests that wait for a thread: more come only with more events. */
const MOST_QUEUED = 50

/** When what is stored is judged for the last time. */
export const AT_THE_END = "at the end"

/** What a trial has a service do, and what must be true of it. */
export interface Subject<S> {
  /** Opens the service in a new process. */
  open(machine: Machine): S
  ready(service: S): true | string
  close(service: S): Promise<void>
  /** A publication of a step. */
  publish(step: Publish): void
  /** Does something that succeeds once all is well. */
  tryOut(succeeded: () => void, done: () => void): void
  /** Its process has ended. */
  ended?(): void
  remote?(step: Extract<Step, { do: "remote" }>): void
  peers?(step: Extract<Step, { do: "peers" }>): void
  /** Its files were taken away. @returns to be called when they are put back */
  filesTaken?(): () => void
  /** How long it takes to recover once everything works again, in milliseconds; default: RECOVERY_MS. */
  readonly recoveryMs?: number | undefined
  /** Reports what is wrong with what a power cut leaves in a folder, then with what is served once a sector of it is damaged. */
  check(folder: string, when: string, sector?: Sector): void
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
  readonly scenario: StorageScenario
  service: S | undefined
  readonly #subject: Subject<S>

  constructor(scenario: StorageScenario, subject: (trial: Trial<S>) => Subject<S>) {
    this.scenario = scenario
    this.world = new World(scenario.seed)
    this.random = this.world.randomOf("trial")
    this.machine = new Machine(this.world, "hookline", {
      start: () => {
        this.service = this.#subject.open(this.machine)
      },
      ended: () => {
        this.service = undefined
        this.#subject.ended?.()
        this.#look("after a crash")
      },
      healMs: scenario.healMs,
      mayFail: (error) => error instanceof HooklineError && ["log_io", "log_locked"].includes(error.code),
    })
    this.#subject = subject(this)
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
      const leftMs = process.stalledUntilMs - this.world.nowMs
      if (leftMs > -LATE_MS) this.world.after(Math.max(leftMs, 0) + LATE_MS + 1, again)
      else check()
    }
    this.world.after(deadlineMs - this.world.nowMs + LATE_MS + 1, again)
    return () => {
      if (!isOver) check()
      isOver = true
    }
  }

  run(): Outcome {
    const { world, machine, scenario } = this
    for (const step of scenario.steps.filter(({ atMs }) => atMs < 0)) this.#carryOut(step)
    machine.start()
    for (const step of scenario.steps) if (step.atMs >= 0) world.after(step.atMs, () => this.#carryOut(step))
    world.after(scenario.healMs, () => {
      world.tell("everything", "heals")
      machine.faults.heal()
      this.#subject.heal?.()
    })
    let isWell = false
    const again = (): void => {
      if (isWell) return
      this.#subject.tryOut(
        () => (isWell = true),
        () => world.after(50, again),
      )
    }
    const recoveredMs = scenario.healMs + (this.#subject.recoveryMs ?? RECOVERY_MS)
    world.after(recoveredMs, again)
    const endMs = recoveredMs + WELL_MS
    world.after(endMs, () => {
      if (!isWell) world.violate("nothing works although everything has healed")
      const ready = this.service === undefined ? "it does not run" : this.#subject.ready(this.service)
      if (ready !== true) world.violate(`it is not ready although everything has healed: ${ready}`)
      if (this.service !== undefined) this.#subject.checkHealed?.(this.service)
      this.#look(AT_THE_END)
    })
    world.runUntil(endMs)
    if (machine.longestQueue > MOST_QUEUED)
      world.violate(`${machine.longestQueue} requests waited for a thread`)
    machine.remove()
    const { violations, steps } = world
    return { violations, steps, history: () => world.history(), hash: () => world.hash() }
  }

  #carryOut(step: Step): void {
    if (step.do === "publish") {
      for (let at = 0; at < step.count; at++)
        this.world.after(at * step.everyMs, () => this.#subject.publish(step))
      return
    }
    const { atMs: _, ...what } = step
    this.world.tell("fault", JSON.stringify(what))
    this.#break(step)
  }

  #break(step: Fault): void {
    const { process, faults } = this.machine
    switch (step.do) {
      case "fail":
      case "halt":
      case "stall disk":
        return faults.arm(step)
      case "fail reads":
        return faults.failReads(step.read, step.count, step.forMs)
      case "slow disk":
        return faults.slow(step.ms, step.forMs)
      case "fill disk":
        return faults.fill(step.leftBytes, step.forMs)
      case "lock":
      case "read":
        return faults.neighbour(step.do === "read", step.file, step.forMs)
      case "take files":
        return this.#takeFiles(step)
      case "truncate WAL":
        return this.#truncateWal(step)
      case "crash":
        if (process !== undefined) this.machine.crash(step.kind)
        return
      case "stop":
        return this.#stop()
      case "stall":
        return process?.stall(step.forMs)
      case "set clock":
        this.machine.clocks.offsetMs += step.byMs
        return
      case "look":
        return this.#look("after a power cut", step.sector)
      case "remote":
        return this.#subject.remote?.(step)
      case "peers":
        return this.#subject.peers?.(step)
    }
  }

  /**
   * Someone takes the files away: removes them, moves them and puts them back later, puts an earlier copy in their place, or
   * writes it over them.
   * Whoever does not put back what the process has open restarts it.
   */
  #takeFiles({ how, forMs }: Extract<Step, { do: "take files" }>): void {
    const { world, machine, service } = this
    const hasOpen = service !== undefined && this.#subject.ready(service) === true
    const isCopied = how === "replace" || how === "overwrite"
    if (how === "overwrite" && !this.#isOpenIn(service)) return
    const putBack =
      how === "overwrite" ? machine.disk.copyFiles() : machine.disk.takeFiles(isCopied ? "copy" : "move")
    const given = isCopied ? undefined : this.#subject.filesTaken?.()
    world.after(forMs, () => {
      if (how === "overwrite" && !this.#isOpenIn(service)) return
      if (how !== "remove") putBack()
      if (how === "rename") given?.()
      if (isCopied) this.#subject.filesTaken?.()
      if (how === "rename" && hasOpen && this.service === service) return
      const last = machine.process
      world.after(forMs, () => {
        if (last !== undefined && machine.process === last) machine.crash("kill")
      })
    })
  }

  /** Whether a service still runs that is ready, on a disk that works. */
  #isOpenIn(service: S | undefined): boolean {
    if (service === undefined || this.service !== service || this.machine.disk.model.isHalted) return false
    return this.#subject.ready(service) === true
  }

  /** Someone truncates the WAL under the process, and restarts it later. What was published before that may be lost. */
  #truncateWal({ share, forMs }: Extract<Step, { do: "truncate WAL" }>): void {
    const { world, machine, service } = this
    // what a crash left is damaged by that, which a start says
    if (!this.#isOpenIn(service)) return
    const last = machine.process
    machine.disk.truncateWals(share)
    this.#subject.filesTaken?.()
    world.after(forMs, () => {
      if (last !== undefined && machine.process === last) machine.crash("kill")
    })
  }

  /** Has the subject judge what a power cut would leave now. */
  #look(when: string, sector?: Sector): void {
    const { disk } = this.machine
    const folder = disk.copyAfterCut(this.random.pick(["none", "some", "all"]))
    try {
      this.#subject.check(folder, when, sector)
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
    process.run(() => {
      void this.#closed(service, process)
    })
    world.after(STOP_MS, () => {
      if (process.isAlive) world.violate(`a stop took more than ${STOP_MS} ms`)
    })
  }
  async #closed(service: S, process: SimulatedProcess): Promise<void> {
    await this.#subject.close(service)
    this.world.tell("hookline", "stopped")
    if (this.machine.process === process) this.machine.exit()
  }
}
