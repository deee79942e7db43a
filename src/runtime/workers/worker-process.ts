import { extname, join } from "node:path"
import { HooklineError } from "../../errors.ts"
import { isCompiled } from "../../process/thread-url.ts"
import type { CallAnswer, Call, Worker } from "./worker.ts"

const PROGRAM = join(import.meta.dir, `../../cli${extname(import.meta.path)}`)
/** Bun reads nothing from the current folder: as in bin/hookline. */
const FLAGS = ["--config=/dev/null", "--no-env-file", "--no-install", "--tsconfig-override=/dev/null"]

type Calls = Pick<Worker, "configure" | "heartbeat" | "stop">

/** A worker's process: the same program, called over IPC. */
export class WorkerProcess {
  readonly pid: number
  /** What its supervisor presents to its admin API: no later process has the same. */
  readonly token = crypto.randomUUID() + crypto.randomUUID()
  /** How it ended: `status 1`, `SIGKILL`. */
  readonly exited: Promise<string>
  readonly #child: Bun.Subprocess
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>()
  #next = 0
  #hasExited = false

  constructor() {
    const flags = [...FLAGS, ...process.execArgv.filter((it) => !FLAGS.includes(it))]
    // a compiled binary is the program itself
    const program = isCompiled(import.meta) ? [] : [...flags, PROGRAM]
    this.#child = Bun.spawn([process.execPath, ...program, "worker"], {
      cwd: "/",
      // by default Bun passes on the environment that this process was started with
      env: process.env,
      // one log: lines up to a pipe's atomic write stay whole, longer ones while no process stalls
      stdio: ["ignore", "inherit", "inherit"],
      serialization: "advanced",
      ipc: (message) => this.#receive(message as CallAnswer),
    })
    this.pid = this.#child.pid
    this.exited = this.#exit()
  }

  /** @throws HooklineError the worker's error, or `unavailable` when it ends first */
  async call<C extends keyof Calls>(
    name: C,
    ...[argument]: Parameters<Calls[C]>
  ): Promise<Awaited<ReturnType<Calls[C]>>> {
    if (this.#hasExited) throw ended()
    const call: Call = { number: this.#next++, name, argument }
    try {
      this.#child.send(call)
    } catch (cause) {
      // the channel closes just before the exit is known
      throw ended(cause)
    }
    const answer = Promise.withResolvers<unknown>()
    this.#pending.set(call.number, answer)
    return answer.promise as Promise<Awaited<ReturnType<Calls[C]>>>
  }

  kill(): void {
    this.#child.kill("SIGKILL")
  }

  async #exit(): Promise<string> {
    const status = await this.#child.exited
    this.#hasExited = true
    for (const { reject } of this.#pending.values()) reject(ended())
    this.#pending.clear()
    return String(this.#child.signalCode ?? `status ${status}`)
  }

  #receive({ number, result, error }: CallAnswer): void {
    const answer = this.#pending.get(number)
    this.#pending.delete(number)
    if (error === undefined) answer?.resolve(result)
    else answer?.reject(new HooklineError(error.code, error.message))
  }
}

const ended = (cause?: unknown): HooklineError =>
  new HooklineError("unavailable", "the worker has ended", { cause })
