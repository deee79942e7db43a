import type { Steps } from "../../clock/slices.ts"
import { locateEventPart } from "../../verify/presets/event-locations.ts"
import type { Coverage } from "../../verify/schemes/family.ts"
import { connectionOf, type ResolvedDraft } from "./resolved-draft.ts"
import { senderIn, senderOf } from "./sender.ts"

/**
 * Warns of replays that a signature scheme allows. Signed ids that each of several workers would remember on its own are
 * an error: a captured request would be accepted once by each.
 */
export function* checkReplay({
  pipelines,
  connections,
  service,
  admin,
  problems,
}: ResolvedDraft): Steps<void> {
  const { workers = 1 } = service.values
  for (const { processors, sink } of pipelines) {
    yield
    const parts = processors.filter((it) => typeof it !== "function")
    const { kind } = connections.get(String(connectionOf(sink, connections))) ?? {}
    if (kind === undefined || !parts.every((it) => it.isSound())) continue
    const keepers = parts.filter(({ component }) => component.store !== undefined)
    const [keeper] = keepers
    const sender = senderOf(processors)
    const dedupes = keepers.some(({ values: { key = "event:id" } }) =>
      locateEventPart(String(key), sender).every((it) => it.startsWith("json:")),
    )
    const isInMemory = keeper === undefined || keeper.values.store === "memory"
    // with replicas it takes a store that all share, of which replica-checks.ts warns
    const forgetsIds = isInMemory && kind.logFolder === undefined && admin.values.replicas === undefined
    for (const part of parts) {
      const { values, where } = part
      const { name, covers, checksTime = false } = senderIn(part) ?? {}
      if (name === undefined || covers === undefined || values.mode === "observe") continue
      if (workers > 1 && covers.id && keeper === undefined) {
        const text = `signed ids of ${name} are remembered by one process, and [service] workers = ${workers}; add a Deduplicator with store = redis://..., or set workers = 1`
        problems.add(where("provider"), text)
        continue
      }
      for (const text of warningsOf(name, covers, { checksTime, dedupes, forgetsIds }))
        problems.warn(where("provider"), text)
    }
  }
}

/** @param around whether the signed time is compared with the clock, a Deduplicator's key is signed, and whether a restart forgets signed ids */
function* warningsOf(
  sender: string,
  { body, time, id }: Coverage,
  { checksTime, ...around }: { checksTime: boolean; dedupes: boolean; forgetsIds: boolean },
): Iterable<string> {
  const isOpen = body === "none" || body === "checksum"
  if (body === "none" && !id)
    yield `${sender} signs no body: a captured request can be sent with any body${time && checksTime ? " until its token expires" : ", at any time"}`
  if (body === "none" && id)
    yield `${sender} signs no body: a request captured before its id is used can carry any body`
  if (body === "checksum")
    yield `${sender} signs the body's CRC-32 only, which other bodies can match; set verify_online = true`
  if (body === "part") yield `${sender} signs some members of the body only; the others can be forged`
  if (body === "form")
    yield `${sender} signs a form's parameters without separators, so that one signed request can be split into others`
  if (isOpen && id && around.forgetsIds)
    yield `signed ids of ${sender} are kept in this process's memory, which a restart empties; add a Deduplicator with store = <folder> or redis://`
  if (body === "none" && !id) return
  if (!time && !(body === "whole" && around.dedupes))
    yield `${sender} signs no time: a captured request can be sent again at any time; where events have an id in the body, a Deduplicator by it (key = json:/...) takes each once`
  if (time && !checksTime)
    yield `the time that ${sender} signs is not checked: a captured request can be sent again ${id ? "when its id is forgotten, after 24 h" : "at any time"}; set tolerance`
}
