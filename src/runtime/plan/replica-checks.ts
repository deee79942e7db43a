import { blank, message, messageInFile, named, ofSection, setting, type Message } from "../../message.ts"
import type { Component } from "../../components/define-component.ts"
import type { Steps } from "../../clock/slices.ts"
import type { OptionSet, Values } from "../../config/options/option-types.ts"
import { isRedisUrl } from "../../addresses/redis-url.ts"
import { extensions } from "../../extensions/registry.ts"
import type { Processor } from "../../pipeline/event.ts"
import type { Sections } from "../../extensions/sections.ts"
import type { Plan } from "./draft.ts"
import type { ResolvedDraft } from "./resolved-draft.ts"
import { senderIn } from "../../components/processor-facts.ts"

/*
 * What replicas of one service have to share. They share a Redis: that of their Deduplicators, which also has signed ids and
 * what extensions need, and that of `[service]`. Kafka has the positions of forwards, and a log has them with its records.
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
  /** Sections of extensions, each with its pipeline. */
  readonly sections: Iterable<ReplicatedSection<R>>
}

interface ReplicatedSection<R> {
  readonly part: R
  readonly pipeline: unknown
  readonly declared: Pick<Sections, "pipeline" | "unshared">
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
  for (const { part, pipeline: id, declared } of service.sections) {
    const pipeline = String(id)
    if (declared.unshared === undefined || shares.has(id)) continue
    const [does, effect] = declared.unshared
    const way = keeps.has(id)
      ? message`set ${REDIS} in [pipeline:${pipeline}:Deduplicator]`
      : message`add a Deduplicator with ${REDIS} to ${pipeline}`
    const text = message`${does} by each replica, ${SEVERAL}: ${effect}; ${way}, or give this section to one replica`
    yield { pipeline, part, key: declared.pipeline, text }
  }
}

/** The sections of all extensions. @param sectionsOf those of one, by its name */
const replicated = <R extends { readonly values: { readonly [key: string]: unknown } }>(
  sectionsOf: (name: string) => Iterable<R>,
): ReplicatedSection<R>[] =>
  extensions.flatMap(({ name, sections: declared }) =>
    declared === undefined
      ? []
      : Array.from(sectionsOf(name), (part) => ({
          part,
          pipeline: part.values[declared.pipeline],
          declared,
        })),
  )

/** What replicas of a running service do not share: the pipeline of each, and a sentence. */
export const unsharedIn = ({ admin, service, pipelines, extensions: planned }: Plan) =>
  Array.from(
    unshared({
      ...admin,
      ...service,
      pipelines,
      sections: replicated((name) => planned.get(name)!.sections),
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
  sections,
  problems,
}: ResolvedDraft): Steps<void> {
  const ofService = {
    replicas: admin.values.replicas,
    redis: service.values.redis,
    pipelines,
    sections: replicated((name) => sections.get(name)!.values()),
  }
  for (const { part, key, text } of unshared(ofService)) {
    problems.warn(part.where(key as "pipeline"), text)
    yield
  }
}
