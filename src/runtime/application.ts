import type { LogReader, StoredRecord } from "../brokers/broker.ts"
import type { Connection } from "../brokers/define-connection.ts"
import { readTopic } from "../brokers/read-topic.ts"
import { atOnce, inSlices, type Steps } from "../clock/slices.ts"
import { checkTimeZone } from "../components/local-time.ts"
import type { Component } from "../components/define-component.ts"
import { registryWith } from "../components/registry.ts"
import type { ConfigurationFile } from "../config/file/configuration-file.ts"
import { loadConfiguration } from "../config/file/load.ts"
import { HooklineError } from "../errors.ts"
import { sectionKinds } from "../extensions/registry.ts"
import type { MountedFrom } from "../http/peer.ts"
import type { Handler, HandlerOptions } from "../replay/handler.ts"
import type { ApplicationOptions } from "./application-options.ts"
import type { Changes } from "./configuration-diff.ts"
import type { ConnectionSpec, ReadOptions, Registered } from "./connection-spec.ts"
import { diagnose, explain, type Diagnosis, type DiagnosisOptions } from "./diagnosis.ts"
import { recordIn } from "../process/file-watcher.ts"
import { Unanswered } from "../process/regular-file.ts"
import type { Pipeline } from "./pipeline.ts"
import { logChangedModules } from "./reload-log.ts"
import { plannedHandler } from "./plan/forwards.ts"
import { planConnection } from "./plan/plan-part.ts"
import { connectionIds, makePlan, type Draft, type Plan, type PlannedHandler } from "./plan/plan.ts"
import { logUnshared } from "./reload-log.ts"
import type { ReloadableApplication, RunningApplication } from "./running-application.ts"
import { Runtime } from "./runtime.ts"

/** Registers connections and pipelines, and runs them. */
export class Application {
  readonly #options: ApplicationOptions
  readonly #registry: readonly Component[]
  /** `reads` is called with the absolute path of each file read on the way. */
  #readConfiguration:
    | ((reads: (file: string) => void, isReload: boolean) => Steps<ConfigurationFile>)
    | undefined
  #configuration: ConfigurationFile | undefined
  readonly #inputs = new Map<string, string>()
  readonly #connections = new Map<string, ConnectionSpec>()
  readonly #pipelines: Pipeline[] = []
  readonly #handlers: PlannedHandler[] = []
  /** The draft that the last start or reload tried. */
  #draft: Draft | undefined
  #running: ReloadableApplication | undefined
  /** Answers `fetch`; one that has stopped answers 503. */
  #mounted: Runtime | undefined
  #starting: Promise<ReloadableApplication> | undefined
  #reloading: Promise<void> | undefined
  #nextReload: Promise<Changes> | undefined

  constructor(options: ApplicationOptions = {}) {
    this.#options = options
    this.#registry = registryWith(options.components ?? [])
  }

  /**
   * An application configured by a file; it also gives defaults to what code registers.
   *
   * @param file undefined: $HOOKLINE_CONFIG, else ./pipelines.conf
   * @throws HooklineError `no_input` when the file can't be read; its problems are reported by `start`
   */
  static fromFile(file?: string, options: ApplicationOptions = {}): Application {
    const app = new Application(options)
    app.#configuration = atOnce(app.#firstConfiguration(file))
    return app
  }

  /** @internal As `fromFile`, and waits for no file longer than a few seconds. */
  static async load(file: string | undefined, options: ApplicationOptions): Promise<Application> {
    const app = new Application(options)
    app.#configuration = await inSlices(app.#firstConfiguration(file))
    return app
  }

  #firstConfiguration(file: string | undefined): Steps<ConfigurationFile> {
    const cwd = process.cwd()
    const { env = process.env } = this.#options
    this.#readConfiguration = (reads, isReload) =>
      loadConfiguration(file, { env, cwd, reads, isReload, kinds: sectionKinds })
    for (const [module, stamp] of this.#options.modules ?? []) this.#inputs.set(module, stamp)
    return this.#readConfiguration(recordIn(this.#inputs), false)
  }

  /**
   * Registers a connection, opened by `start` or the next `reload`.
   *
   * @returns the connection, for options that name one, and `read`
   * @throws HooklineError `config`: the id is taken
   */
  registerConnection<C extends ConnectionSpec>(id: string, connection: C): Registered<C> {
    if (this.#connections.has(id))
      throw new HooklineError("config", `connection ${JSON.stringify(id)} is registered already`)
    this.#connections.set(id, connection)
    return { ...connection, id }
  }

  /** Adds a pipeline, run by `start`, or from the next `reload` on. */
  addPipeline(pipeline: Pipeline): this {
    this.#pipelines.push(pipeline)
    return this
  }

  /** Handles the events of `<connection>/<topic>`, from a durable position, by `start` or from the next `reload` on. @throws HooklineError `config` */
  handle(from: string, handler: Handler, options: HandlerOptions = {}): this {
    this.#handlers.push(plannedHandler(from, handler, options, this.#handlers))
    return this
  }

  /** @internal Resolves the configuration. @throws HooklineError `config` with every problem, a line each */
  plan(): Plan {
    return atOnce(makePlan(this.#draftOf(this.#configuration, recordIn(this.#inputs))))
  }

  /** @internal Finds every problem that a start would have, and changes nothing. */
  diagnose(options: DiagnosisOptions): Promise<Diagnosis> {
    return diagnose(this.#draftOf(this.#configuration, recordIn(this.#inputs)), options)
  }

  /** @internal The configuration's files, by absolute path, with their stamps at reading: see file-watcher.ts. */
  get inputs(): ReadonlyMap<string, string> {
    return this.#inputs
  }

  /**
   * Opens the connections and starts to listen. Does not wait for brokers: senders get 503 until one is reachable. Nor
   * for a log, spool or file that can't be opened, as long as at least one pipeline has all it needs.
   *
   * @param options `listen: false` opens no ports: requests come by `fetch` alone
   * @throws HooklineError `config`, `listen`, `log_locked`, `log_io`. Nothing is left open then.
   */
  start({ listen = true }: { readonly listen?: boolean } = {}): Promise<RunningApplication> {
    return this.startBy(async (plan) => {
      return (this.#mounted = await Runtime.start(plan, {
        from: { ports: listen, mount: true },
        onAnswer: this.#options.onAnswer,
        onLogLine: this.#options.onLogLine,
        logsRequests: this.#options.logsRequests,
      }))
    }, listen)
  }

  /** @internal As `start`, with a start of the caller's own. */
  async startBy(
    start: (plan: Plan) => Promise<ReloadableApplication>,
    listens = true,
  ): Promise<ReloadableApplication> {
    if (this.#running !== undefined || this.#starting !== undefined)
      throw new HooklineError("usage", "the application is started already")
    this.#draft = this.#draftOf(this.#configuration, recordIn(this.#inputs))
    try {
      this.#starting = inSlices(makePlan(this.#draft)).then(start)
      const running = (this.#running = await this.#starting)
      running.reloadAgain = () => this.reload()
      checkTimeZone((text) => running.log.warn(text))
      logUnshared(running)
      return running
    } catch (error) {
      throw await this.#explain(error, { alone: listens })
    } finally {
      this.#starting = undefined
    }
  }

  /**
   * Answers a request for an application mounted in another server: `Bun.serve({ fetch: app.fetch })`. The first request
   * starts it, without ports, if `start` was not called; once stopped it answers 503. Bound: works detached from `app`.
   *
   * @param from the sender's address, `{ remoteAddress }`, or Bun.serve's second argument; without it the address is `unknown`
   * @throws HooklineError as `start`, as a rejection; `usage` when the request's body was read before, or for another `from`
   */
  readonly fetch = async (request: Request, from?: MountedFrom): Promise<Response> => {
    if (this.#mounted === undefined) await (this.#starting ?? this.start({ listen: false }))
    return this.#mounted!.fetch(request, from)
  }

  /**
   * Reads a topic's records, by offset within each partition, started or not. Ends at the end of the log as of the start
   * of reading, unless `follow` is set.
   *
   * @param connection a registered connection, or an id
   * @throws HooklineError `config`, `usage` for an unknown connection, `no_topic`, `unavailable`, `no_input`
   */
  async *read(
    connection: string | Registered,
    topic: string,
    { from = "beginning", follow = false, signal = new AbortController().signal }: ReadOptions = {},
  ): AsyncGenerator<StoredRecord, void, undefined> {
    const reader = await this.openReader(typeof connection === "string" ? connection : connection.id)
    try {
      yield* readTopic(reader, topic, { from, follow, signal })
    } finally {
      await reader.close()
    }
  }

  /** @internal Opens a connection's log for reading. @throws HooklineError `config`, `usage` */
  async openReader(id: string): Promise<LogReader> {
    const { kind, values } = this.connection(id)
    return kind.openReader(values)
  }

  /** @internal The ids of the connections, whatever is wrong with them; those with a key, if one is named. */
  connectionIds(key?: string): readonly string[] {
    return connectionIds(this.#draftOf(this.#configuration), key)
  }

  /** @internal Resolves one connection, whatever is wrong elsewhere. @throws HooklineError `config`, `usage` */
  connection(id: string): Connection {
    return planConnection(this.#draftOf(this.#configuration), id)
  }

  /**
   * Reads the configuration again, files and registrations, and switches to it without refusing or losing a request.
   * Parts that have not changed stay open. One at a time: a call during one runs after it, and later calls join that one.
   *
   * @throws HooklineError `config`, `no_input`, `listen`, `log_locked`, `log_io`: logged, and nothing has changed.
   *   `usage`: not started. `closing`: stopping.
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
   * Drains: accepts nothing new, publishes and answers what was accepted within `drain_timeout`, then closes the
   * connections. Further calls wait for the same end; one during a start waits for that first.
   */
  async stop(): Promise<void> {
    // a failed start reports itself
    const running = this.#running ?? (await this.#starting?.catch(() => undefined))
    await running?.stop()
    this.#running = undefined
  }

  async #reload(running: ReloadableApplication): Promise<Changes> {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.#reloading = ended
    const inputs = new Map<string, string>()
    try {
      this.#draft = undefined
      const changes = await running.reload(
        () => this.#readAgain(recordIn(inputs), running),
        (error) => {
          const listens = running.listening.length > 0
          return this.#explain(error, { alone: false, ...(listens && { running: running.plan }) })
        },
      )
      this.#configuration = running.plan.draft.configuration
      this.#inputs.clear()
      return changes
    } catch (error) {
      // once it answers, it has changed
      if (error instanceof Unanswered) inputs.set(error.path, "no answer")
      throw error
    } finally {
      // after a failure too: a change to any of these files may fix it
      for (const [file, stamp] of inputs) this.#inputs.set(file, stamp)
      this.#reloading = undefined
      end()
    }
  }

  *#readAgain(reads: (file: string) => void, { plan: before, log }: ReloadableApplication): Steps<Plan> {
    yield* logChangedModules(this.#options.modules ?? new Map(), reads, log)
    const configuration = this.#readConfiguration && (yield* this.#readConfiguration(reads, true))
    this.#draft = this.#draftOf(configuration, reads)
    return yield* makePlan(this.#draft, before)
  }

  async #explain(error: unknown, options: DiagnosisOptions): Promise<unknown> {
    return this.#draft === undefined ? error : explain(this.#draft, error, options)
  }

  #draftOf(configuration: ConfigurationFile | undefined, reads?: (file: string) => void): Draft {
    return {
      configuration,
      // a snapshot: additions during the planning are for the next reload
      connections: new Map(this.#connections),
      pipelines: [...this.#pipelines],
      handlers: [...this.#handlers],
      admin: this.#options.admin ?? (configuration === undefined ? { listen: "off" } : undefined),
      traces: this.#options.traces,
      service: this.#options.service,
      registry: this.#registry,
      cwd: process.cwd(),
      reads,
    }
  }
}
