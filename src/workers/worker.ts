import { components } from "../components/registry.ts"
import { HooklineError } from "../errors.ts"
import { makePlan, type Plan } from "../plan.ts"
import { PlanRunner, type Listening, type State } from "../running.ts"
import { atOnce, type Steps } from "../slices.ts"
import { Channel } from "./channel.ts"
import type { Membership } from "./membership.ts"
import { problemOf, type Calls, type Changed, type Order, type Question, type Reply } from "./messages.ts"
import { packMetrics, type PackedMetrics } from "./summed-metrics.ts"
import { WORKER_FD } from "./worker-process.ts"

/** Beyond its drain_timeout, for a worker whose supervisor has ended. */
const GRACE_MS = 5000

/** Takes webhooks as one of several processes, as the supervisor that started it says, until that has ended. */
export async function work(): Promise<void> {
  // whoever signals all processes of a group means the supervisor, which tells its workers in order
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {})
  const worker = new Worker(await Channel.open(WORKER_FD))
  process.on("disconnect", () => void worker.orphaned())
  process.on("message", (question: Question) => void answer(worker, question))
  if (!process.connected) await worker.orphaned()
}

async function answer(worker: Worker, { number, call, argument }: Question): Promise<void> {
  let reply: Reply
  try {
    const calls = worker as unknown as { [name in typeof call]: (argument: unknown) => unknown }
    reply = { number, result: await calls[call](argument) }
  } catch (error) {
    reply = { number, problem: problemOf(error, (it) => worker.fault(it)) }
  }
  if (process.connected) process.send!(reply)
}

type Answers = {
  readonly [C in keyof Calls]: (
    ...argument: Parameters<Calls[C]>
  ) => ReturnType<Calls[C]> | Promise<ReturnType<Calls[C]>>
}

/** A change of orders that is under way. */
interface Change {
  readonly prepared: PromiseWithResolvers<void>
  readonly decided: PromiseWithResolvers<void>
  readonly done: Promise<Changed & { unused: Promise<void> }>
}

class Worker implements Answers {
  readonly #channel: Channel
  #hosted: Order["hosted"] = new Map()
  #workers = 1
  #runner: PlanRunner | undefined
  #change: Change | undefined
  #unused = Promise.resolve()

  constructor(channel: Channel) {
    this.#channel = channel
  }

  async start({ worker, workers, ...order }: Parameters<Calls["start"]>[0]): Promise<Listening[]> {
    this.#workers = workers
    const membership: Membership = {
      worker,
      workers,
      remote: (connection) => {
        const number = this.#hosted.get(connection)
        return number === undefined ? undefined : { number, open: () => this.#channel.broker(number) }
      },
      agreed: () => {
        this.#change!.prepared.resolve()
        return this.#change!.decided.promise
      },
      peers: this.#channel,
    }
    this.#runner = await PlanRunner.start(atOnce(this.#planOf(order)), membership)
    return [...this.#runner.listening]
  }

  async prepare(order: Order): Promise<void> {
    // one that was given up may still be closing what it opened
    await this.#change?.done.catch(() => {})
    const prepared = Promise.withResolvers<void>()
    const decided = Promise.withResolvers<void>()
    // a change that fails before it is prepared says so by `prepared`
    decided.promise.catch(() => {})
    const done = this.#changeOver(order)
    done.catch(prepared.reject)
    this.#change = { prepared, decided, done }
    await prepared.promise
  }

  async commit(): Promise<Changed> {
    const { decided, done } = this.#change!
    decided.resolve()
    const { unused, ...changed } = await done
    this.#unused = unused
    return changed
  }

  async abort(): Promise<void> {
    const { decided, done } = this.#change!
    decided.reject(new HooklineError("closing", "another worker can't change"))
    await done.catch(() => {})
  }

  settle(): Promise<void> {
    return this.#unused
  }

  state(): State {
    return this.#runner!.state()
  }

  heartbeat(): void {}

  async metrics(): Promise<PackedMetrics> {
    return packMetrics(await this.#runner!.metrics.lines())
  }

  async stop(): Promise<void> {
    this.#change?.decided.reject(new HooklineError("closing", "the worker is stopping"))
    try {
      await this.#runner?.stop()
    } catch (error) {
      this.fault(error)
      process.exit(70)
    }
    process.exit(0)
  }

  /** Nobody is there to start it anew, or to stop it. */
  async orphaned(): Promise<void> {
    this.#runner?.log.error("the supervisor has ended: stopping")
    const { drain_timeout: drainTimeoutMs = 0 } = this.#runner?.plan.service ?? {}
    setTimeout(() => process.exit(70), drainTimeoutMs + GRACE_MS)
    await this.stop()
  }

  fault(error: unknown): void {
    if (this.#runner === undefined) console.error(error)
    else this.#runner.log.error({ err: error }, "a fault in a worker")
  }

  async #changeOver(order: Order): Promise<Changed & { unused: Promise<void> }> {
    const before = this.#hosted
    try {
      const { changes, unused } = await this.#runner!.changeOver(() => this.#planOf(order))
      return { changes, listening: [...this.#runner!.listening], unused }
    } catch (error) {
      this.#hosted = before
      throw error
    }
  }

  *#planOf({ seed, hosted }: Order): Steps<Plan> {
    this.#hosted = hosted
    const service = { workers: this.#workers }
    const plan = yield* makePlan({ seed, service, registry: components, cwd: process.cwd() })
    // bodies grow by what is added to them
    this.#channel.maxBytes = (2 * plan.service.max_in_flight_bytes) / this.#workers
    return plan
  }
}
