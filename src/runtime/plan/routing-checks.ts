import { message, named, setting } from "../../message.ts"
import type { Component, Routing } from "../../components/define-component.ts"
import { enumerate } from "../../words.ts"
import type { Problems } from "../../config/file/problems.ts"
import type { Steps } from "../../clock/slices.ts"
import { connectionOf, type ResolvedDraft } from "./resolved-draft.ts"
import type { ResolvedPipeline } from "./resolve-pipelines.ts"
import { senderOf } from "../../components/processor-facts.ts"
import { isSigned } from "../../verify/senders.ts"

type Part = Exclude<ResolvedPipeline["processors"][number], (...given: never) => unknown>

/** A component that chooses topics, and the pipeline's sink. */
interface Routed {
  readonly id: string
  readonly part: Part
  readonly routing: Routing
  readonly connection: unknown
}

/** Checks that only signed content chooses topics, and that nothing accepted goes to a topic of dead letters. */
export function* checkRouting({ pipelines, connections, registry, problems }: ResolvedDraft): Steps<void> {
  const routed: Routed[] = []
  for (const { id, processors, sink } of pipelines) {
    yield
    const parts = processors.filter((it) => typeof it !== "function")
    for (const part of parts) {
      const routing = part.component.routing?.(part.values)
      if (routing === undefined) continue
      checkSigned(routing, part, parts, problems)
      checkPatterns(routing, part, registry, problems)
      if (routing.hasSeveral && sink?.values.value_format === "json-schema")
        problems.add(
          part.where("routes"),
          message`has a line with several topics, whose values would name one schema; with ${setting("value_format", "json-schema")} name one topic a line`,
        )
      routed.push({ id, part, routing, connection: connectionOf(sink, connections) })
    }
  }
  for (const { sink } of pipelines) {
    yield
    const letters: unknown = sink?.values.dead_letter_topic
    if (sink === undefined || typeof letters !== "string") continue
    const own = connectionOf(sink, connections)
    for (const { id, part, routing, connection } of routed) {
      const key = connection === own ? routing.mayChoose(letters) : undefined
      if (key === undefined) continue
      const where = `pipeline ${JSON.stringify(id)} (${problems.locate(part.where(key))})`
      problems.add(
        sink.where("dead_letter_topic"),
        message`is a topic that ${named(key)} of ${where} can choose, which must not contain refused events; choose another`,
      )
    }
  }
}

/**
 * A key of another component in a section of lines is a line: as a topic a secret would be shown to everybody. Code has no
 * section that it could be in by mistake.
 */
function checkPatterns(
  { patterns }: Routing,
  part: Part,
  registry: readonly Component[],
  problems: Problems,
): void {
  const where = part.where("routes")
  if (where.line === "code") return
  for (const pattern of patterns) {
    const key = pattern.toLowerCase()
    const owners = registry.filter((it) => it !== part.component && Object.hasOwn(it.options, key))
    if (owners.length === 0) continue
    const titles = enumerate(
      owners.map(({ title }) => title),
      "or",
    )
    const text = `${JSON.stringify(pattern)} is a pattern here; if the key of a ${titles} is meant, move it to that section`
    if (!owners.some(({ options }) => options[key]!.secret)) problems.warn(where, text)
    else problems.add(where, `${text}; for events with this value write ${JSON.stringify(`${pattern}*`)}`)
  }
}

const isReadable = (it: Part): boolean => it.component.sender === undefined || it.isSound()

/** A header, path or query that is not signed can be changed by whoever captures a request. */
function checkSigned(routing: Routing, part: Part, parts: readonly Part[], problems: Problems): void {
  // what is wrong with them is reported elsewhere
  if (routing.allowsUnsigned || !part.isSound() || !parts.every(isReadable)) return
  // of a body that is not signed the Verifier's own warnings tell
  const places = routing.places(senderOf(parts)).filter((it) => !it.startsWith("json:"))
  for (const { component, values } of parts) {
    const { name = "", covers } = component.sender?.(values) ?? {}
    if (covers === undefined) continue
    const open = places.find((place) => !isSigned(place, covers))
    if (open !== undefined)
      problems.add(
        part.where(routing.key),
        message`reads the ${open.replace(":", " ")}, which ${name} does not sign: a captured request could be sent again with another one, to another topic; choose by json:/pointer, or set ${setting("unsigned", "true")} to accept that`,
      )
  }
}
