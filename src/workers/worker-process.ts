import { join } from "node:path"
import { HooklineError } from "../errors.ts"
import { Hosting, type Host } from "./hosting.ts"
import { errorOf, type CallName, type Calls, type Question, type Reply } from "./messages.ts"

/** How a process ended: `status 1`, `SIGKILL`. */
export type Ending = string

const PROGRAM = join(import.meta.dir, "..", "cli.ts")
/** Bun executes and reads nothing of the current folder: as in bin/hookline. */
const FLAGS = ["--config=/dev/null", "--no-env-file", "--no-install", "--tsconfig-override=/dev/null"]
/** The descriptor of its end of the pair of sockets. */
export const WORKER_FD = 3

/** A worker, as the supervisor has it: a process of the same program. */
export class WorkerProcess {
  readonly pid: number
  readonly exited: Promise<Ending>
  readonly #child: Bun.Subprocess
  readonly #hosting: Promise<Hosting>
  #open: Hosting | undefined
  readonly #asked = new Map<number, PromiseWithResolvers<unknown>>()
  #next = 0
  #ended = false

  constructor(host: Host) {
    const flags = [...FLAGS, ...process.execArgv.filter((it) => !FLAGS.includes(it))]
    this.#child = Bun.spawn([process.execPath, ...flags, PROGRAM, "worker"], {
      cwd: "/",
      // one log: lines shorter than a pipe's atomic write, and longer ones while nobody stands still, stay whole
      stdio: ["ignore", "inherit", "inherit", "socket-fd"],
      serialization: "advanced",
      ipc: (message) => this.#receive(message as Reply),
    })
    this.pid = this.#child.pid
    this.#hosting = Hosting.open(this.#child.stdio[WORKER_FD] as number, host)
    void this.#hosting.then((it) => (this.#open = it))
    this.exited = this.#end()
  }

  /** @throws HooklineError what the worker answers, or `unavailable` when it ends before */
  call<C extends CallName>(call: C, ...[argument]: Parameters<Calls[C]>): Promise<ReturnType<Calls[C]>> {
    if (this.#ended) return Promise.reject(gone())
    const number = this.#next++
    const answer = Promise.withResolvers<unknown>()
    this.#asked.set(number, answer)
    const question: Question = { number, call, argument }
    this.#child.send(question)
    return answer.promise as Promise<ReturnType<Calls[C]>>
  }

  /** Has the worker hear what another one told. */
  passOn(frame: Buffer): void {
    this.#open?.send(frame)
  }

  kill(): void {
    this.#child.kill("SIGKILL")
  }

  async #end(): Promise<Ending> {
    const status = await this.#child.exited
    this.#ended = true
    for (const { reject } of this.#asked.values()) reject(gone())
    this.#asked.clear()
    const hosting = await this.#hosting
    hosting.close()
    const { signalCode } = this.#child
    return signalCode === null ? `status ${status}` : String(signalCode)
  }

  #receive({ number, result, problem }: Reply): void {
    const asked = this.#asked.get(number)
    this.#asked.delete(number)
    if (problem === undefined) asked?.resolve(result)
    else asked?.reject(errorOf(problem))
  }
}

const gone = (): HooklineError => new HooklineError("unavailable", "a worker has ended")
