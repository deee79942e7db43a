import type { Readiness } from "../admin/server.ts"
import type { SpoolState } from "../brokers/broker.ts"
import { connectionStates, type ConnectionState } from "../connection-states.ts"
import { changesOf, type Changes } from "../changes.ts"
import { HooklineError } from "../errors.ts"
import { holdAdmin } from "../held-admin.ts"
import { holdConnections } from "../held-connections.ts"
import { Holdings } from "../holdings.ts"
import { checkFree } from "../http/listener.ts"
import type { OpenConnection } from "../open-connection.ts"
import type { Plan } from "../plan.ts"
import { atOnce, inSlices, type Steps } from "../slices.ts"
import { reload, tellListening, type Listening, type Reloadable } from "../reload.ts"
import type { Runner } from "../running.ts"
import { steadyMs } from "../steady-clock.ts"
import { openLog, type Logger, type OpenLog } from "../telemetry/log.ts"
import { shareAnswer } from "../telemetry/exposition.ts"
import { Metrics } from "../telemetry/metrics.ts"
import { Fleet } from "./fleet.ts"
import { HostedBrokers, hostedOf } from "./hosted.ts"
import type { Changed, Order } from "./messages.ts"
import { readinessOf } from "./readiness.ts"
import { exposeSum } from "./summed-metrics.ts"

/** What the supervisor has open of a plan. */
interface Generation {
  readonly plan: Plan
  readonly connections: ReadonlyMap<string, OpenConnection>
  readonly listening: readonly Listening[]
}

/**
 * Runs plans in several processes that listen on the same ports, the workers. It takes no webhooks itself. What one process
 * alone can have open is here, and workers publish to it over a pair of sockets: embedded logs, and Kafka connections with a
 * spool. So is the admin listener, which tells of all workers together.
 *
 * A change of plans opens here what is new, then has all workers open theirs, then all of them take over; when anything
 * fails before, it is closed again everywhere.
 */
export class Supervisor implements Runner, Reloadable {
  readonly log: Logger
  readonly metrics = new Metrics()
  readonly #setLevel: OpenLog["setLevel"]
  readonly #holdings: Holdings
  readonly #hosted = new HostedBrokers()
  readonly #fleet: Fleet
  #generation: Generation | undefined
  #stopped: Promise<void> | undefined
  #changing: Promise<unknown> = Promise.resolve()

  private constructor({ service }: Plan) {
    const { log, setLevel } = openLog({ level: service.log_level, format: service.log_format })
    this.log = log
    this.#setLevel = setLevel
    this.#holdings = new Holdings((name, error) => log.error({ err: error }, `${name} could not be closed`))
    this.#fleet = new Fleet({
      workers: service.workers,
      log,
      broker: (number) => this.#hosted.find(number),
      lost: (worker) => this.metrics.workers.lost(worker),
      stallTimeoutMs: () => (this.#generation?.plan.service ?? service).stall_timeout,
      stalled: (worker, what) => this.metrics.workers.stalled(worker, what),
    })
  }

  /**
   * Opens what is not the workers', and starts them.
   *
   * @throws HooklineError when a part can't be opened, here or by a worker; all is closed again then
   */
  static async start(plan: Plan): Promise<Supervisor> {
    const supervisor = new Supervisor(plan)
    const read = (): Promise<Plan> => Promise.resolve(plan)
    await supervisor.#take(read, async (order, decide) => {
      const listening = await supervisor.#fleet.start(order)
      decide()
      atOnce(tellListening(supervisor.log, [], listening))
      return { listening, unused: Promise.resolve() }
    })
    supervisor.metrics.configuration.started()
    supervisor.metrics.observe({
      inFlight: () => ({ requests: 0, bytes: 0 }),
      connections: () => supervisor.#hosting().map(({ id, problem }) => [id, problem === undefined] as const),
      impaired: () =>
        supervisor.#hosting().flatMap(({ id, impaired }) => (impaired === undefined ? [] : [[id, impaired]])),
      stores: () => [],
      waiting: () => [],
      spools: () => supervisor.#spools(),
    })
    return supervisor
  }

  get plan(): Plan {
    return this.#generation!.plan
  }

  get listening(): readonly Listening[] {
    return this.#generation!.listening
  }

  reload(read: () => Steps<Plan>): Promise<Changes> {
    const reloading = reload(this, read)
    this.#changing = reloading.catch(() => {})
    return reloading
  }

  async change(read: () => Steps<Plan>): Promise<Changes> {
    const before = this.#generation!
    let changed: Changed | undefined
    const inTurns = (): Promise<Plan> => inSlices(read())
    await this.#take(inTurns, async (order, decide) => {
      const { changed: told, unused } = await this.#fleet.change(order, decide)
      changed = told
      return { listening: told?.listening ?? before.listening, unused }
    })
    const own = changesOf(bare(before), bare(this.#generation!))
    return { ...(changed?.changes ?? own), service: own.service, admin: own.admin }
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop())
  }

  async #stop(): Promise<void> {
    const { drain_timeout: drainTimeoutMs } = this.plan.service
    this.log.info({ drain_timeout_ms: drainTimeoutMs }, "stopping")
    const untilMs = steadyMs() + drainTimeoutMs
    // whoever ends this process before has no time to let workers drain
    process.once("exit", () => this.#fleet.kill())
    await this.#fleet.stop(untilMs + GRACE_MS)
    await this.#changing
    await this.#holdings.close(untilMs)
    this.log.info("stopped")
  }

  /** @param takeOver calls `decide`, which may throw, when all workers can take over, and before they do */
  async #take(
    read: () => Promise<Plan>,
    takeOver: (
      order: Order,
      decide: () => void,
    ) => Promise<{ listening: readonly Listening[]; unused: Promise<void> }>,
  ): Promise<void> {
    const changeover = await this.#holdings.begin()
    const before = this.#generation?.connections ?? new Map<string, OpenConnection>()
    try {
      if (this.#stopped !== undefined) throw new HooklineError("closing", "the application is stopping")
      const plan = await read()
      const held = holdConnections(before, { connections: hostedOf(plan) }, changeover, this)
      const { open: connections } = held
      const status = { readiness: () => this.#readiness(), metrics: () => this.#expose() }
      const adopt = holdAdmin(plan, changeover, status, this.log)
      this.#checkPorts(plan)
      const order = { seed: plan.seed!, hosted: this.#hosted.number(connections) }
      const { listening, unused } = await takeOver(order, () => {
        // events have come meanwhile
        held.check()
        // from here on nothing fails
        held.commit()
      })
      changeover.commit(unused, plan.service.drain_timeout)
      this.#setLevel(plan.service.log_level)
      const generation = (this.#generation = { plan, connections, listening })
      void unused.then(() => this.#forget(generation))
      adopt()
    } catch (error) {
      await changeover.abort()
      throw error
    }
  }

  /** Forgets the brokers that no event uses any more, unless another change has begun to use its own. */
  #forget(generation: Generation): void {
    if (this.#generation === generation) this.#hosted.keep(generation.connections)
  }

  /** Workers share their ports with whoever else does: that nobody does is seen here, once. */
  #checkPorts({ pipelines }: Plan): void {
    const placesOf = (of: Plan["pipelines"]) =>
      of.map(({ source }) => source.values as { host: string; port: number })
    const known = new Set(placesOf(this.#generation?.plan.pipelines ?? []).map(({ port }) => port))
    for (const place of placesOf(pipelines)) if (!known.has(place.port)) checkFree(place)
  }

  async #readiness(): Promise<Readiness> {
    const workers = await this.#fleet.status()
    const hosted = this.#hosting()
    return readinessOf({ workers, hosted, spools: this.#spools(), isDraining: this.#stopped !== undefined })
  }

  readonly #expose = shareAnswer(async () => {
    const workers = await this.#fleet.count()
    this.metrics.workers.told(workers)
    const own = await this.metrics.lines()
    const told = workers.map(({ metrics }) => metrics ?? [])
    return exposeSum([own, this.#fleet.bequeathed, ...told])
  })

  /** The connections that are open here. */
  #hosting(): ConnectionState[] {
    const generation = this.#generation
    return generation === undefined ? [] : connectionStates(generation.connections, generation.plan)
  }

  #spools(): (readonly [string, SpoolState])[] {
    return [...(this.#generation?.connections ?? [])].flatMap(([id, { broker }]) =>
      broker.spool === undefined ? [] : [[id, broker.spool()] as const],
    )
  }
}

/** Beyond its drain_timeout, until a worker that does not end is killed. */
const GRACE_MS = 5000

/** What pipelines and connections changed, the workers tell. */
const bare = ({ plan }: Generation) => ({ plan, connections: new Map(), pipelines: new Map() })
