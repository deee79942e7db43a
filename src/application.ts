import type { Changes } from "./changes.ts"
import type { Configured } from "./components/component.ts"
import { components } from "./components/registry.ts"
import type { ADMIN } from "./config/admin.ts"
import { stampOf } from "./config/file-stamp.ts"
import { loadSeed } from "./config/load.ts"
import type { Values } from "./config/options.ts"
import type { Seed } from "./config/seed.ts"
import type { SERVICE } from "./config/service.ts"
import type { ConnectionSpec } from "./connection.ts"
import { HooklineError } from "./errors.ts"
import type { Processor } from "./event.ts"
import { makePlan, type ComposedPipeline, type Plan } from "./plan.ts"
import { PlanRunner, type Runner, type Running } from "./running.ts"
import { atOnce, type Steps } from "./slices.ts"

export interface ApplicationOptions {
  /** Options as in `[service]`; durations in milliseconds, sizes in bytes. */
  readonly service?: Partial<Values<(typeof SERVICE)["options"]>>
  /** Options as in `[admin]`. An application without a file has no admin listener unless this is given. */
  readonly admin?: Partial<Values<(typeof ADMIN)["options"]>>
}

/** A pipeline's parts as code names them. */
export interface PipelineParts {
  readonly source: Configured<"source">
  /** In the order of an event's way: components, or plain functions. */
  readonly processors: readonly (Configured<"processor"> | Processor)[]
  readonly sink: Configured<"sink">
}

/** A pipeline that code composes: one source, an ordered list of processors, one sink. */
export class Pipeline implements ComposedPipeline {
  readonly id: string
  readonly source: PipelineParts["source"]
  readonly processors: PipelineParts["processors"]
  readonly sink: PipelineParts["sink"]

  /** @param id names the pipeline in logs and metrics, and its sections in a file */
  constructor(id: string, { source, processors, sink }: PipelineParts) {
    this.id = id
    this.source = source
    this.processors = processors
    this.sink = sink
  }
}

/** Starts what runs a plan. */
export type Start = (plan: Plan) => Promise<Runner>

/** Reads the configuration file. `reads` is told of each file that is read on the way, as an absolute path. */
type ReadSeed = (reads: (file: string) => void) => Steps<Seed>

/** Registers connections and pipelines, and runs them: the same calls that the command line makes. */
export class Application {
  readonly #options: ApplicationOptions
  readonly #readSeed: ReadSeed | undefined
  #seed: Seed | undefined
  readonly #inputs = new Map<string, string>()
  readonly #connections = new Map<string, ConnectionSpec["given"]>()
  readonly #pipelines: ComposedPipeline[] = []
  #running: Runner | undefined
  #reloading: Promise<void> | undefined
  #nextReload: Promise<Changes> | undefined

  /** @param readSeed reads the configuration file; undefined: there is none */
  constructor(options: ApplicationOptions = {}, readSeed?: ReadSeed) {
    this.#options = options
    this.#readSeed = readSeed
    this.#seed = readSeed && atOnce(readSeed(recordIn(this.#inputs)))
  }

  /**
   * An application of all that a configuration file names. What code registers besides takes its defaults from there.
   *
   * @param file the file; undefined: $HOOKLINE_CONFIG, else ./pipelines.conf
   * @throws HooklineError `no_input` when it can't be read; what is wrong in it is told by `plan` and `start`
   */
  static fromFile(file?: string, options: ApplicationOptions = {}): Application {
    const cwd = process.cwd()
    return new Application(options, (reads) => loadSeed(file, { env: process.env, cwd, reads }))
  }

  /**
   * Registers a connection under the id that sinks name it by. It is opened at `start`, or by the next `reload`.
   *
   * @throws HooklineError `config` when the id is taken
   */
  registerConnection(id: string, connection: ConnectionSpec): this {
    if (this.#connections.has(id))
      throw new HooklineError("config", `the connection ${id} is registered already`)
    this.#connections.set(id, connection.given)
    return this
  }

  /** Adds a pipeline, to run at `start`, or from the next `reload` on. */
  addPipeline(pipeline: Pipeline): this {
    this.#pipelines.push(pipeline)
    return this
  }

  /**
   * What is to run, without starting it.
   *
   * @throws HooklineError `config` with everything that is wrong, a line each
   */
  plan(): Plan {
    return atOnce(this.#plan(this.#seed, recordIn(this.#inputs)))
  }

  /**
   * The files that the configuration was read from, and those that it names to be read, as absolute paths, each with a
   * stamp of when it was read, see file-stamp.ts.
   */
  get inputs(): ReadonlyMap<string, string> {
    return this.#inputs
  }

  /**
   * Opens the connections and starts to listen. Does not wait for brokers: until they can be reached senders get 503.
   *
   * @param start for the command line: what runs the plan in another way than in this process alone
   * @returns where the pipelines listen, and the log
   * @throws HooklineError `config`, also for `workers` above 1, which the command line alone can have; `listen`,
   *   `log_locked`, `log_io`; nothing is left open then
   */
  async start(start: Start = startHere): Promise<Running> {
    if (this.#running !== undefined) throw new HooklineError("usage", "the application is started already")
    this.#running = await start(this.plan())
    return this.#running
  }

  /**
   * Reads the configuration file again, with all that it names, checks it whole, and changes to it without a request that
   * is refused or lost. What is registered and added by now is taken too. What is equal stays open as it is.
   *
   * One reload at a time: a call during one has its turn after it, and further ones join that.
   *
   * @returns what has changed, by name
   * @throws HooklineError `config`, `no_input`, `listen`, `log_locked`, `log_io`: the log says what is wrong, and nothing
   *   has changed. `usage`: it is not started. `closing`: it is stopping.
   */
  reload(): Promise<Changes> {
    const running = this.#running
    if (running === undefined)
      return Promise.reject(new HooklineError("usage", "the application is not started"))
    if (this.#nextReload !== undefined) return this.#nextReload
    if (this.#reloading === undefined) return this.#reload(running)
    return (this.#nextReload = this.#reloading.then(() => {
      this.#nextReload = undefined
      return this.#reload(running)
    }))
  }

  /**
   * Stops in order: accepts nothing new, answers and publishes what was accepted within `drain_timeout`, then closes the
   * connections. Can be called again and waits for the same end.
   */
  async stop(): Promise<void> {
    await this.#running?.stop()
    this.#running = undefined
  }

  async #reload(running: Runner): Promise<Changes> {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.#reloading = ended
    const inputs = new Map<string, string>()
    const reads = recordIn(inputs)
    let seed = this.#seed
    try {
      const changes = await running.reload(() => this.#readAgain(reads, (read) => (seed = read)))
      this.#seed = seed
      this.#inputs.clear()
      return changes
    } finally {
      // of one that failed, the files that may put it right count as well
      for (const [file, stamp] of inputs) this.#inputs.set(file, stamp)
      this.#reloading = undefined
      end()
    }
  }

  *#readAgain(reads: (file: string) => void, took: (seed: Seed | undefined) => void): Steps<Plan> {
    const seed = this.#readSeed && (yield* this.#readSeed(reads))
    took(seed)
    return yield* this.#plan(seed, reads)
  }

  #plan(seed: Seed | undefined, reads: (file: string) => void): Steps<Plan> {
    return makePlan({
      seed,
      // what is added between two steps is for the next reload
      connections: new Map(this.#connections),
      pipelines: [...this.#pipelines],
      admin: this.#options.admin ?? (seed === undefined ? { listen: "off" } : undefined),
      service: this.#options.service,
      registry: components,
      cwd: process.cwd(),
      reads,
    })
  }
}

async function startHere(plan: Plan): Promise<Runner> {
  const { workers } = plan.service
  if (workers === 1) return PlanRunner.start(plan)
  throw new HooklineError(
    "config",
    `[service] workers: is ${workers}, and an application that code starts is one process; run it by \`hookline run\`, or give { service: { workers: 1 } } in code`,
  )
}

/** Makes what is told of each file before it is read; the first time counts. */
const recordIn =
  (inputs: Map<string, string>) =>
  (file: string): void => {
    if (!inputs.has(file)) inputs.set(file, stampOf(file))
  }
