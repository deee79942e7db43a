import type { Connection, ConnectionKind } from "../brokers/define-connection.ts"
import { MEMORY } from "../brokers/memory/kind.ts"
import { inSlices, type Steps } from "../clock/slices.ts"
import { checkTimeZone } from "../components/local-time.ts"
import { isUnread, senderOf } from "../components/processor-facts.ts"
import { components } from "../components/registry.ts"
import type { Problems } from "../config/file/problems.ts"
import type { OptionSet, Values } from "../config/options/option-types.ts"
import { soundValues, type Resolved } from "../config/options/resolve.ts"
import { ADMIN, SERVICE } from "../config/sections.ts"
import { DEFAULT_DELIVERY_TIMEOUT_MS } from "../brokers/define-connection.ts"
import { FORWARD } from "../config/sections/forward.ts"
import type { RedisServer } from "../dedupe/redis-client.ts"
import { HooklineError, type FaultCode } from "../errors.ts"
import { readTls } from "../http/tls.ts"
import type { TopicSchemas } from "../pipeline/topic-schemas.ts"
import { Metrics } from "../telemetry/metrics.ts"
import { RequestLog } from "../telemetry/request-log.ts"
import { acquirePipelines, type OpenablePipeline } from "./build-pipeline.ts"
import { CheckingTransaction, unopened } from "./checking-transaction.ts"
import { acquireConnections, type OpenConnections } from "./connections.ts"
import { postOptionsOf } from "./forward-specs.ts"
import { addressesOf, checkIsFree } from "./plan/addresses.ts"
import { planOf, resolveDraft, type Draft, type Plan } from "./plan/plan.ts"
import { redisOf } from "./plan/redis.ts"
import type { ResolvedPart, ResolvedPipeline } from "./plan/resolve-pipelines.ts"
import type { ResolvedDraft } from "./plan/resolved-draft.ts"
import { SILENT, warningLog } from "./warning-log.ts"

/*
 * What a start would report, all at once: `check` shows it, and a start or a reload that fails throws it. It opens the plan as a
 * start does, as far as options are right, in a transaction that checks instead of opening.
 */

export interface Diagnosis {
  /** undefined: the configuration can't be run. */
  readonly plan: Plan | undefined
  readonly problems: Problems
  /** What would be published to, by connection. */
  readonly topics: ReadonlyMap<string, readonly string[]>
  readonly stores: readonly RedisServer[]
  /** The schemas that each pipeline needs, and their topics where these are known. */
  readonly schemas: readonly NeededSchemas[]
  /** With every problem, a line each; undefined: there is none. */
  readonly error: HooklineError | undefined
}

export interface NeededSchemas {
  readonly schemas: TopicSchemas
  readonly topics: readonly string[]
}

export interface DiagnosisOptions {
  /** Whether nothing may be in use: ports that another process listens on, and logs that one writes to, are problems. */
  readonly alone: boolean
  /** The plan that this process runs: ports that it does not have must be free. */
  readonly running?: Plan | undefined
  /** Whether components other than the built-in ones are created, too: a start or reload that failed may have done so. */
  readonly createsAll?: boolean
  /** Whether this process may have logs locked: a start that failed closes them, on a busy machine for seconds. */
  readonly closes?: boolean
}

/** Finds every problem of a draft. Changes nothing, and reaches no broker. */
export async function diagnose(draft: Draft, options: DiagnosisOptions): Promise<Diagnosis> {
  const resolved = await inSlices(resolveDraft(draft))
  const { problems } = resolved
  checkTimeZone((text) => problems.warn({ line: undefined }, text))
  const codes = new Set<FaultCode>(problems.hasAny ? ["config"] : [])
  const check = new Check(resolved, options)
  const found = { problems, ...(await check.run()) }
  for (const code of check.codes) codes.add(code)
  if (!problems.hasAny) return { ...found, plan: await inSlices(planOf(resolved)), error: undefined }
  const [first = "config"] = codes
  // a configuration that is right may be tried again, as supervisors do
  const error = problems.toError(codes.has("config") ? "config" : first)
  return { ...found, plan: undefined, error }
}

/** Faults that a diagnosis may know more of. */
const OF_CONFIGURATION: ReadonlySet<FaultCode> = new Set(["config", "listen", "log_locked", "log_io"])

/** What a start or a reload failed with: every problem of the draft, where it is one of them that it failed with. */
export async function explain(draft: Draft, error: unknown, options: DiagnosisOptions): Promise<unknown> {
  if (!(error instanceof HooklineError) || !OF_CONFIGURATION.has(error.code)) return error
  return (await diagnose(draft, { ...options, closes: error.code !== "log_locked" })).error ?? error
}

/** Shared, because every Metrics instance starts its own event-loop probe. */
let uncounted: Metrics | undefined

/** Opens a draft in a transaction that checks. */
class Check {
  readonly #resolved: ResolvedDraft
  readonly #options: DiagnosisOptions
  readonly #transaction: CheckingTransaction

  constructor(resolved: ResolvedDraft, options: DiagnosisOptions) {
    const { problems } = resolved
    this.#resolved = resolved
    this.#options = options
    this.#transaction = new CheckingTransaction({ problems, alone: options.alone, closes: options.closes })
  }

  /** The codes of the failures. */
  get codes(): ReadonlySet<FaultCode> {
    return this.#transaction.codes
  }

  async run(): Promise<Pick<Diagnosis, "topics" | "stores" | "schemas">> {
    const { baseDir } = this.#resolved
    const transaction = this.#transaction
    const log = warningLog((text) => transaction.warn(text))
    const metrics = (uncounted ??= new Metrics())
    const plan = {
      baseDir,
      connections: this.#connections(),
      pipelines: this.#resolved.pipelines.map((it) => this.#openable(it)),
      admin: this.#resolved.admin.values,
    }
    const opened = await acquireConnections(plan, transaction, new Map(), { log, metrics })
    const connections = this.#withNamed(opened)
    const building = { plan, transaction, connections, metrics, log, requestLog: new RequestLog(SILENT) }
    const more = { topicsAdded() {}, from: undefined, redis: undefined, extensions: [] }
    const pipelines = await inSlices(acquirePipelines({ ...building, ...more }))
    await inSlices(this.#sections())
    transaction.end()
    return {
      topics: new Map(
        [...opened].map(([id, { broker }]) => [
          id,
          [...pipelines.values()].flatMap((it) => it.topicsOn(broker)),
        ]),
      ),
      stores: [...transaction.stores.values()],
      schemas: [...pipelines.values()].flatMap((it) =>
        it.schemas === undefined ? [] : [{ schemas: it.schemas, topics: it.schemaTopics() }],
      ),
    }
  }

  /** The connections with all that a pipeline asks of one; those whose options are right may be opened. */
  #connections(): ReadonlyMap<string, Connection> {
    return new Map(
      [...this.#resolved.connections].map(([id, resolved]) => {
        const { kind = MEMORY as ConnectionKind, values, isSound } = resolved
        const delivery_timeout = values["delivery_timeout"] ?? DEFAULT_DELIVERY_TIMEOUT_MS
        const connection = { kind, values: { ...values, delivery_timeout } }
        if (isSound()) this.#transaction.allow(connection, kind.options, resolved)
        return [id, connection]
      }),
    )
  }

  /** Those that sinks name, too, which are reported as unknown. */
  #withNamed(opened: OpenConnections): OpenConnections {
    const named = new Map(opened)
    for (const { sink } of this.#resolved.pipelines) {
      const id = String(sink?.values["connection"] ?? opened.keys().next().value ?? "")
      if (!named.has(id))
        named.set(id, {
          ...unopened(),
          kind: MEMORY as ConnectionKind,
          deliveryTimeoutMs: DEFAULT_DELIVERY_TIMEOUT_MS,
        })
    }
    return named
  }

  /** The parts of a pipeline whose options are right. Built-in ones change nothing when they are created; an application's own may. */
  #openable({ id, source, processors, sink }: ResolvedPipeline): OpenablePipeline {
    const registry = this.#options.createsAll ? this.#resolved.registry : components
    // without the sender, what depends on it can't be made
    const lacksSender = processors.some(isUnread)
    const sound = <P extends ResolvedPart>(part: P | undefined): P | undefined => {
      if (part?.isSound() !== true) return undefined
      const { component } = part
      if (registry.includes(component) && !(lacksSender && component.checkInPipeline !== undefined))
        this.#transaction.allow(part, component.options, part)
      return part
    }
    return {
      id,
      source: sound(source),
      processors: processors.flatMap((it) => (typeof it === "function" ? it : (sound(it) ?? []))),
      sink: sound(sink),
      sender: senderOf(processors),
    }
  }

  *#sections(): Steps<void> {
    const { forwards, admin, service } = this.#resolved
    const { alone, running } = this.#options
    const attempt = <O extends OptionSet>(
      section: Resolved<O>,
      options: O,
      open: (values: Values<O>) => unknown,
    ): void => {
      const values = soundValues(section)
      if (values === undefined) return
      this.#transaction.allow(section, options, section)
      this.#transaction.attempt([section], () => open(values))
    }
    for (const forward of forwards.values()) attempt(forward, FORWARD.options, postOptionsOf)
    attempt(admin, ADMIN.options, readTls)
    attempt(service, SERVICE.options, (values) => {
      const redis = redisOf(values)
      if (redis !== undefined) this.#transaction.needs(redis)
    })
    if (alone || running !== undefined) yield* this.#listen(running?.ports ?? new Set())
  }

  /** Checks that each address that would be listened on alone is free. @param open ports of this process */
  *#listen(open: ReadonlySet<number>): Steps<void> {
    const seen = new Set<string>()
    const areShared = this.#resolved.service.values.reuse_port === "on"
    for (const address of yield* addressesOf(this.#resolved)) {
      const { host, port, owner, key } = address
      // to try a shared port would take connections from other instances
      if (areShared && key === undefined) continue
      if (!owner.isSound() || open.has(port) || seen.has(`${host} ${port}`)) continue
      seen.add(`${host} ${port}`)
      this.#transaction.allow(address, owner.values, owner)
      this.#transaction.attempt([address], () => checkIsFree(address))
    }
  }
}
