import type { Connection, ConnectionKind } from "../brokers/define-connection.ts"
import { MEMORY } from "../brokers/memory/kind.ts"
import { MemoryLog } from "../brokers/memory/log.ts"
import { steadyMs } from "../clock/clock.ts"
import { atOnce, inSlices, type Steps } from "../clock/slices.ts"
import type { Component, Made } from "../components/define-component.ts"
import { checkTimeZone } from "../components/local-time.ts"
import { components } from "../components/registry.ts"
import type { Place, Problems } from "../config/file/problems.ts"
import { DEFAULT_DELIVERY_TIMEOUT_MS } from "../config/sections/delivery-timeout.ts"
import { DedupeKeys } from "../dedupe/dedupe-keys.ts"
import { dedupeFileIn } from "../dedupe/key-database.ts"
import type { Location as StoreLocation } from "../dedupe/location.ts"
import { MemoryKeys } from "../dedupe/memory-keys.ts"
import type { RedisServer } from "../dedupe/redis-client.ts"
import { HooklineError, namesOf, OptionError, type FaultCode } from "../errors.ts"
import type { Handler } from "../pipeline/compose.ts"
import type { TopicSchemas } from "../pipeline/topic-schemas.ts"
import { checkDatabase } from "../storage/check-database.ts"
import type { DatabaseLocation } from "../storage/database-file.ts"
import { checkUnlocked } from "../storage/writer-lock.ts"
import { SILENT, warningLog } from "./warning-log.ts"
import { Metrics } from "../telemetry/metrics.ts"
import { readTls } from "../http/tls.ts"
import { contextsOf, createComponent, type PartsOf, type PreparableConnection } from "./component-context.ts"
import { postOptionsOf } from "./forward-specs.ts"
import { addressesOf, checkIsFree } from "./plan/addresses.ts"
import { redisOf } from "./plan/redis.ts"
import { planOf, resolveDraft, type Draft, type Plan } from "./plan/plan.ts"
import type { ResolvedDraft } from "./plan/resolved-draft.ts"
import type { ResolvedPart, ResolvedPipeline } from "./plan/resolve-pipelines.ts"
import { isUnread, senderOf } from "../components/processor-facts.ts"

/*
 * What a start would report, all at once: `check` shows it, and a start or a reload that fails throws it. Each step is the
 * one that a start takes, where it changes nothing: options are resolved, files read, components created by their own
 * `create`. Brokers, stores and their files are replaced by ones in memory, after a check of folders and files.
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
  const registry = options.createsAll ? draft.registry : components
  const dryRun = new DryRun(resolved, { ...options, registry, failed: (code) => codes.add(code) })
  await dryRun.connect()
  await inSlices(dryRun.steps())
  const found = {
    problems,
    topics: dryRun.topics,
    stores: [...dryRun.stores.values()],
    schemas: dryRun.schemas,
  }
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

interface DryRunOptions extends DiagnosisOptions {
  /** Components to create. The built-in ones change nothing then; those of an application's own may. */
  readonly registry: readonly Component[]
  readonly failed: (code: FaultCode) => void
}

type Part = Pick<ResolvedPart, "home" | "where"> & { readonly options: object }

/** One for all: each observes the event loop. */
let uncounted: Metrics | undefined

/** Creates what a start would, where its options are right, and reports what fails. */
class DryRun {
  readonly topics = new Map<string, string[]>()
  /** Redis servers, by URL and CA. */
  readonly stores = new Map<string, RedisServer>()
  readonly schemas: NeededSchemas[] = []
  readonly #resolved: ResolvedDraft
  readonly #options: DryRunOptions
  readonly #connections = new Map<string, PreparableConnection>()
  readonly #metrics = (uncounted ??= new Metrics())

  constructor(resolved: ResolvedDraft, options: DryRunOptions) {
    this.#resolved = resolved
    this.#options = options
  }

  *steps(): Steps<void> {
    for (const pipeline of this.#resolved.pipelines) {
      this.#create(pipeline)
      yield
    }
    for (const forward of this.#resolved.forwards.values())
      this.#trySection(forward as unknown as ResolvedPart, (values) => postOptionsOf(values as never))
    const { alone, running } = this.#options
    const { admin, service } = this.#resolved as unknown as { readonly [section: string]: ResolvedPart }
    this.#trySection(admin!, readTls)
    this.#trySection(service!, (values) => this.#needRedis(redisOf(values as Plan["service"])))
    if (alone || running !== undefined) this.#listen(running?.ports ?? new Set())
  }

  async connect(): Promise<void> {
    for (const [id, connection] of this.#resolved.connections) {
      const { kind, values, isSound } = connection
      const topics: string[] = []
      this.topics.set(id, topics)
      this.#connections.set(id, {
        ...unopenedConnection(values["delivery_timeout"]),
        prepare: (names) => void topics.push(...names),
        ...(kind !== undefined && { kind }),
        logDirectory: kind?.logFolder?.(values),
      })
      if (kind?.dryRun === undefined || !isSound()) continue
      try {
        await kind.dryRun(values as Connection["values"], (location) => this.#checkDatabase(location))
      } catch (error) {
        this.#report([{ ...connection, options: values }], error)
      }
    }
  }

  #create({ id, source, processors, sink }: ResolvedPipeline): void {
    const components = processors.filter((it) => typeof it !== "function" && it.isSound())
    const isSound = (it: ResolvedPipeline["source" | "sink"]): boolean => it?.isSound() === true
    const { registry } = this.#options
    const sound = [...[source].filter(isSound), ...components, ...[sink].filter(isSound)] as ResolvedPart[]
    // without the sender, what depends on it can't be made
    const isMade = ({ component }: ResolvedPart): boolean =>
      component.checkInPipeline === undefined || !processors.some(isUnread)
    const known = sound.filter((it) => registry.includes(it.component) && isMade(it))
    const opened: (() => unknown)[] = []
    const routed: string[] = []
    let making: Place | undefined
    const contextOf = contextsOf(
      {
        id,
        processors: components as PartsOf["processors"],
        ...(isSound(source) && { source: source as NonNullable<PartsOf["source"]> }),
        ...(isSound(sink) && { sink: sink as NonNullable<PartsOf["sink"]> }),
      },
      {
        baseDir: this.#resolved.baseDir,
        log: warningLog((text) => making && this.#resolved.problems.warn(making, text)),
        metrics: this.#metrics.pipeline(id),
        connection: (asked) =>
          this.#connections.get(asked ?? this.#connections.keys().next().value ?? "") ?? unopenedConnection(),
        // prepared, which is noted
        addTopics: (names) => void routed.push(...names),
        acquire: ({ open, close }) => {
          const resource = open()
          opened.push(() => close?.(resource, steadyMs()))
          return resource
        },
        openKeys: (location) => this.#keysAt(location),
        sender: senderOf(processors),
        sharedLimits: undefined,
      },
    )
    for (const [index, { component, values, home }] of known.entries()) {
      making = home
      const own = (): Part[] =>
        [known[index]!, ...known].map((it) => ({ ...it, options: it.component.options }))
      this.#try(own, () => {
        const made = createComponent({ component, values: values as never }, contextOf(component.title))
        if (component.kind === "source") (made as Made["source"])(NO_HANDLER)
        if (component.kind !== "sink") return
        const { schemas } = made as Made["sink"]
        if (schemas !== undefined)
          this.schemas.push({ schemas, topics: [...new Set([String(values["topic"]), ...routed])] })
      })
    }
    for (const close of opened) close()
  }

  #trySection(section: ResolvedPart, open: (values: ResolvedPart["values"]) => unknown): void {
    const own = (): Part[] => [{ ...section, options: section.values }]
    if (section.isSound()) this.#try(own, () => open(section.values))
  }

  #needRedis(server: RedisServer | undefined): void {
    if (server !== undefined) this.stores.set(`${server.url} ${server.ca}`, server)
  }

  #keysAt(location: StoreLocation): DedupeKeys {
    if (location.kind === "redis") this.#needRedis(location)
    if (location.kind === "embedded") this.#checkDatabase(dedupeFileIn(location.directory))
    return new DedupeKeys(new MemoryKeys({ log: SILENT }))
  }

  #checkDatabase(location: DatabaseLocation): void {
    checkDatabase(location)
    if (this.#options.alone) checkUnlocked(location, this.#options.closes)
  }

  /** Checks that each address that would be listened on alone is free. @param open ports of this process */
  #listen(open: ReadonlySet<number>): void {
    const seen = new Set<string>()
    const areShared = this.#resolved.service.values.reuse_port === "on"
    for (const address of atOnce(addressesOf(this.#resolved))) {
      const { host, port, owner, key } = address
      // to try a shared port would take connections from other instances
      if (areShared && key === undefined) continue
      if (!owner.isSound() || open.has(port) || seen.has(`${host} ${port}`)) continue
      seen.add(`${host} ${port}`)
      this.#try(
        () => [{ ...owner, options: owner.values }],
        () => checkIsFree(address),
      )
    }
  }

  /** @param parts that may have the option that is wrong, the first before the others */
  #try(parts: () => readonly Part[], open: () => unknown): void {
    try {
      open()
    } catch (error) {
      this.#report(parts(), error)
    }
  }

  #report(parts: readonly Part[], error: unknown): void {
    if (!(error instanceof HooklineError)) throw error
    this.#options.failed(error.code)
    const { problems } = this.#resolved
    const [name] = namesOf(error)
    if (!(error instanceof OptionError)) return problems.add(parts[0]!.home, error.message, name)
    const { key, text, message } = error
    const owner = parts.find(({ options }) => key in options)
    if (owner === undefined) problems.add(parts[0]!.home, message, name)
    // a file that can be read, and has a wrong content
    else problems.add(owner.where(key), text, name === "invalid_configuration" ? "invalid_value" : name)
  }
}

/** A connection of which nothing is open. */
function unopenedConnection(deliveryTimeoutMs = DEFAULT_DELIVERY_TIMEOUT_MS): PreparableConnection {
  const broker = new MemoryLog()
  return { broker, prepare() {}, instance: broker, kind: MEMORY as ConnectionKind, deliveryTimeoutMs }
}

const NO_HANDLER: Handler = {
  admit: undefined,
  methods: [],
  handle: () => Promise.reject(new HooklineError("internal", "a diagnosis handles no event")),
  verifiesSenders: false,
  quickCheck: undefined,
  response: undefined,
  outcomes: [],
}
