import { blank, message, messageInFile, named, ofSection, setting, type Message } from "../../message.ts"
import type { Component } from "../../components/define-component.ts"
import type { Steps } from "../../clock/slices.ts"
import type { OptionSet, Values } from "../../config/options/option.ts"
import { isRedisUrl } from "../../addresses/redis-url.ts"
import type { Processor } from "../../pipeline/event.ts"
import type { Plan } from "./draft.ts"
import type { ResolvedDraft } from "./resolved-draft.ts"
import { senderIn } from "../../components/processor-facts.ts"

/*
 * What replicas of one service have to share. They share a Redis: that of their Deduplicators, which also has signed ids and
 * what reconciling needs, and that of `[service]`. Kafka has the positions of forwards, and a log has them with its records.
 * What would let an event pass twice is refused; of the rest that they do not share `check` and the log of a start warn.
 */

interface Part {
  readonly component: Pick<Component, "store">
  readonly values: Partial<Values<OptionSet>>
}

interface Replicated<S extends Omit<Part, "component">, P extends Part, R> {
  readonly replicas: readonly string[] | undefined
  /** As of `[service]`. */
  readonly redis: string | undefined
  readonly pipelines: readonly {
    readonly id: string
    readonly source: S | undefined
    readonly processors: readonly (P | Processor)[]
  }[]
  /** With the pipeline of each. */
  readonly reconciles: Iterable<readonly [reconcile: R, pipeline: unknown]>
}

/** An option whose state each replica has for itself. */
interface Unshared<P> {
  readonly pipeline: string
  readonly part: P
  readonly key: string
  /** What that leads to and what mends it, to follow the key. */
  readonly text: Message
}

const SEVERAL = message`and ${ofSection("admin", named("replicas"))} names several`
const REDIS = setting("store", "redis://...")

function* unshared<S extends Omit<Part, "component">, P extends Part, R>(
  service: Replicated<S, P, R>,
): Iterable<Unshared<S | P | R>> {
  if (service.replicas === undefined) return
  const shares = new Set<unknown>()
  const keeps = new Set<unknown>()
  for (const { id: pipeline, source, processors } of service.pipelines) {
    const parts = processors.filter((it): it is P => typeof it !== "function")
    const keepers = parts.filter(({ component }) => component.store !== undefined)
    if (keepers.length > 0) keeps.add(pipeline)
    if (keepers.some(({ values }) => isRedisUrl(String(values.store)))) shares.add(pipeline)
    for (const part of parts) {
      if (part.values.secret_file === undefined) continue
      const text = message`is written by the replica that gets the sender's first request, ${SEVERAL}: the others refuse its events; set ${blank("secret", "what the file has then")} for all, or a file that they share`
      yield { pipeline, part, key: "secret_file", text }
    }
    if (source?.values.rate_limit === undefined || service.redis !== undefined) continue
    const text = message`is counted by each replica, ${SEVERAL}: together they accept as many times as much; set redis in [service]`
    yield { pipeline, part: source, key: "rate_limit", text }
  }
  for (const [part, id] of service.reconciles) {
    const pipeline = String(id)
    if (shares.has(id)) continue
    const way = keeps.has(id)
      ? message`set ${REDIS} in [pipeline:${pipeline}:Deduplicator]`
      : message`add a Deduplicator with ${REDIS} to ${pipeline}`
    const text = message`is reconciled by each replica, ${SEVERAL}: each asks for events that another one has; ${way}, or give this section to one replica`
    yield { pipeline, part, key: "pipeline", text }
  }
}

/** What replicas of a running service do not share: the pipeline of each, and a sentence. */
export const unsharedIn = ({ admin, service, pipelines, reconciles }: Plan) =>
  Array.from(
    unshared({
      ...admin,
      ...service,
      pipelines,
      reconciles: reconciles.map((it) => [it, it.pipeline.id] as const),
    }),
    ({ pipeline, key, text }) => [pipeline, `${key} ${messageInFile(text)}`] as const,
  )

/** Refuses what only one process remembers, where replicas would have to know it: keys of events, and signed ids. */
export function* checkReplicas({ admin, pipelines, problems }: ResolvedDraft): Steps<void> {
  if (admin.values.replicas === undefined) return
  for (const { source, processors, sink } of pipelines) {
    yield
    const parts = processors.filter((it) => typeof it !== "function")
    for (const part of [source, ...parts, sink]) {
      const alone = part?.component.alone?.(part.values)
      if (part === undefined || alone === undefined) continue
      problems.add(
        part.where(alone.key),
        message`is one replica's, ${SEVERAL}: ${alone.effect}; ${alone.advice}`,
      )
    }
    if (parts.some(({ component }) => component.store !== undefined)) continue
    for (const part of parts) {
      const { name = "", covers } = senderIn(part) ?? {}
      if (covers?.id !== true || part.values.mode === "observe") continue
      const text = message`has ids that ${name} signs, which each replica remembers by itself, ${SEVERAL}: a captured request would be accepted once by each; add a Deduplicator with ${REDIS}`
      problems.add(part.where("provider"), text)
    }
  }
}

/** Warns of what replicas do not share. */
export function* warnOfReplicas({
  admin,
  service,
  pipelines,
  reconciles,
  problems,
}: ResolvedDraft): Steps<void> {
  const replicated = {
    replicas: admin.values.replicas,
    redis: service.values.redis,
    pipelines,
    reconciles: Array.from(reconciles.values(), (it) => [it, it.values.pipeline] as const),
  }
  for (const { part, key, text } of unshared(replicated)) {
    problems.warn(part.where(key as "pipeline"), text)
    yield
  }
}
