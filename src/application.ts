import type { Configured } from "./components/component.ts"
import { components } from "./components/registry.ts"
import type { ADMIN } from "./config/admin.ts"
import { loadSeed } from "./config/load.ts"
import type { Values } from "./config/options.ts"
import type { Seed } from "./config/seed.ts"
import type { SERVICE } from "./config/service.ts"
import type { ConnectionSpec } from "./connection.ts"
import { HooklineError } from "./errors.ts"
import type { Processor } from "./event.ts"
import { makePlan, type ComposedPipeline, type Plan } from "./plan.ts"
import { runPlan, type Running } from "./running.ts"

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

/** Registers connections and pipelines, and runs them: the same calls that the command line makes. */
export class Application {
  readonly #options: ApplicationOptions
  readonly #seed: Seed | undefined
  readonly #connections = new Map<string, ConnectionSpec["given"]>()
  readonly #pipelines: ComposedPipeline[] = []
  #running: Running | undefined

  constructor(options: ApplicationOptions = {}, seed?: Seed) {
    this.#options = options
    this.#seed = seed
  }

  /**
   * An application of all that a configuration file names. What code registers besides takes its defaults from there.
   *
   * @param file the file; undefined: $HOOKLINE_CONFIG, else ./pipelines.conf
   * @throws HooklineError `no_input` when it can't be read; what is wrong in it is told by `plan` and `start`
   */
  static fromFile(file?: string, options: ApplicationOptions = {}): Application {
    return new Application(options, loadSeed(file, { env: process.env, cwd: process.cwd() }))
  }

  /**
   * Registers a connection under the id that sinks name it by. It is opened at `start`.
   *
   * @throws HooklineError `config` when the id is taken
   */
  registerConnection(id: string, connection: ConnectionSpec): this {
    if (this.#connections.has(id))
      throw new HooklineError("config", `the connection ${id} is registered already`)
    this.#connections.set(id, connection.given)
    return this
  }

  /** Adds a pipeline, to run at `start`. */
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
    return makePlan({
      seed: this.#seed,
      connections: this.#connections,
      pipelines: this.#pipelines,
      admin: this.#options.admin ?? (this.#seed === undefined ? { listen: "off" } : undefined),
      service: this.#options.service,
      registry: components,
      cwd: process.cwd(),
    })
  }

  /**
   * Opens the connections and starts to listen. Does not wait for brokers: until they can be reached senders get 503.
   *
   * @returns where the pipelines listen, and the log
   * @throws HooklineError `config`, `listen`, `log_locked`, `log_io`; nothing is left open then
   */
  async start(): Promise<Running> {
    if (this.#running !== undefined) throw new HooklineError("usage", "the application is started already")
    this.#running = await runPlan(this.plan())
    return this.#running
  }

  /**
   * Stops in order: accepts nothing new, answers and publishes what was accepted within `drain_timeout`, then closes the
   * connections. Can be called again and waits for the same end.
   */
  async stop(): Promise<void> {
    await this.#running?.stop()
    this.#running = undefined
  }
}
