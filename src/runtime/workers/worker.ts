import { atOnce, type Steps } from "../../clock/slices.ts"
import type { Component } from "../../components/define-component.ts"
import { registryWith } from "../../components/registry.ts"
import type { ConfigurationFile } from "../../config/file/configuration-file.ts"
import { HooklineError, type FaultCode } from "../../errors.ts"
import type { Changes } from "../configuration-diff.ts"
import { makePlan, type Plan } from "../plan/plan.ts"
import type { Membership } from "../reload.ts"
import type { Listening } from "../running-application.ts"
import { Runtime } from "../runtime.ts"
import { exitOnUnhandled } from "../unhandled.ts"
import type { Logger } from "../../telemetry/log.ts"

/** Added to drain_timeout before a worker is killed, or exits by itself once its supervisor has ended. */
export const GRACE_MS = 5000

/**
 * Runs a worker, controlled by its supervisor, until that ends.
 *
 * @param load loads the components that sections of the file may name in addition to the built-in ones
 */
export async function work(load: () => Promise<readonly Component[] | undefined>): Promise<void> {
  if (process.send === undefined) {
    console.error("hookline worker is started by hookline run, with [service] workers above 1")
    process.exitCode = 64
    return
  }
  // a signal to the process group is the supervisor's, which stops its workers in order
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {})
  const worker = new Worker(load)
  exitOnUnhandled(() => worker.log)
  process.on("disconnect", () => void worker.orphaned())
  process.on("message", (call: Call) => void answer(worker, call))
  if (!process.connected) await worker.orphaned()
}

async function answer(worker: Worker, { number, name, argument }: Call): Promise<void> {
  let answer: CallAnswer
  try {
    const calls = worker as unknown as { [name: string]: (argument: unknown) => unknown }
    answer = { number, result: await calls[name]!(argument) }
  } catch (error) {
    answer = { number, error: worker.describe(error) }
  }
  if (process.connected) process.send!(answer)
}

/**
 * A call of a worker's method, over Bun's IPC, by which its process is configured, watched and stopped. Everything else goes
 * through its admin API.
 */
export interface Call {
  readonly number: number
  readonly name: string
  readonly argument: unknown
}

export interface CallAnswer {
  readonly number: number
  readonly result?: unknown
  /** A serialised HooklineError. */
  readonly error?: { readonly code: FaultCode; readonly message: string }
}

export interface Configured {
  readonly changes: Changes | undefined
  readonly listening: readonly Listening[]
  /** Of its admin API. */
  readonly adminUrl: string
}

export class Worker {
  readonly #load: Parameters<typeof work>[0]
  #registry = registryWith([])
  #runtime: Runtime | undefined

  constructor(load: Parameters<typeof work>[0]) {
    this.#load = load
  }

  /** undefined: it has not started. */
  get log(): Logger | undefined {
    return this.#runtime?.log
  }

  /** Starts, or changes to another configuration. If it throws, nothing has changed. */
  async configure({
    configuration,
    ...membership
  }: Membership & { readonly configuration: ConfigurationFile }): Promise<Configured> {
    // only a restart changes the number of workers
    const service = { workers: membership.workers }
    const plan = (): Steps<Plan> => {
      const draft = { configuration, service, registry: this.#registry, cwd: process.cwd() }
      return makePlan(draft, this.#runtime?.plan)
    }
    let changes: Changes | undefined
    if (this.#runtime === undefined) {
      this.#registry = registryWith((await this.#load()) ?? [])
      this.#runtime = await Runtime.start(atOnce(plan()), membership)
    } else changes = await this.#runtime.change(plan)
    const { listening, active } = this.#runtime
    return { changes, listening, adminUrl: active.admin!.url }
  }

  /** Its answer shows that the event loop runs. */
  heartbeat(): void {}

  /** Drains and exits, without an answer. */
  async stop(): Promise<void> {
    try {
      await this.#runtime?.stop()
    } catch (error) {
      this.#unexpected(error)
      process.exit(70)
    }
    process.exit(0)
  }

  /** The supervisor has ended. */
  async orphaned(): Promise<void> {
    this.#runtime?.log.error("supervisor ended; stopping")
    const { drain_timeout: drainTimeoutMs = 0 } = this.#runtime?.plan.service ?? {}
    setTimeout(() => process.exit(70), drainTimeoutMs + GRACE_MS)
    await this.stop()
  }

  /** Serialises an error; an unexpected one is logged with its stack. */
  describe(error: unknown): NonNullable<CallAnswer["error"]> {
    if (error instanceof HooklineError) return { code: error.code, message: error.message }
    this.#unexpected(error)
    return { code: "internal", message: `unhandled error in a worker: ${(error as Error).message}` }
  }

  #unexpected(error: unknown): void {
    if (this.#runtime === undefined) console.error(error)
    else this.#runtime.log.error({ err: error }, "unhandled error in a worker")
  }
}
