import type { Proof } from "../components/component.ts"
import type { ResolvedConnection } from "../config/connection.ts"
import type { Problems } from "../config/problems.ts"
import type { OptionSet, Values } from "../config/option.ts"
import type { Resolved } from "../config/resolve.ts"
import type { SERVICE } from "../config/service.ts"
import type { ResolvedPipeline } from "./composition.ts"

/** Warns of what signatures leave open: what a captured request can be used for by whoever has it. */
export function checkReplay(
  pipelines: readonly ResolvedPipeline[],
  connections: ReadonlyMap<string, ResolvedConnection>,
  service: Resolved<(typeof SERVICE)["options"]>,
  problems: Problems,
): void {
  if (problems.all.length > 0) return
  for (const { processors, sink } of pipelines) {
    const parts = processors.flatMap((it) => (typeof it === "function" ? [] : it))
    const keeper = parts.find(({ component }) => component.store !== undefined)
    const dedupes = parts.some(
      ({ component, values }) => component.store !== undefined && String(values.key).startsWith("json:"),
    )
    const id: unknown = sink?.values.connection ?? connections.keys().next().value
    const hasLogFolder = connections.get(String(id))?.kind === "embedded" && service.values.workers === 1
    const forgetsIds = (keeper === undefined || keeper.values.store === "memory") && !hasLogFolder
    for (const { component, values, where } of parts) {
      if (component.proves === undefined || values.mode === "observe") continue
      const proof = component.proves(values as Values<OptionSet>)
      for (const text of warningsOf(proof, { dedupes, forgetsIds })) problems.warn(where("provider"), text)
    }
  }
}

/** @param around whether events are told apart by what is signed, and whether a restart forgets signed ids */
function* warningsOf(
  { sender, covers, checksTime }: Proof,
  around: { readonly dedupes: boolean; readonly forgetsIds: boolean },
): Iterable<string> {
  const { body, time, id } = covers
  const isOpen = body === "none" || body === "checksum"
  if (body === "none" && !id)
    yield `${sender} signs no body: whoever sees one request can send any other${time && checksTime ? " until its token expires" : ", at any time"}`
  if (body === "none" && id)
    yield `${sender} signs no body: whoever captures a request before its id is used can fill it with any body`
  if (body === "checksum")
    yield `${sender} signs the body's CRC-32 only, for which anybody can find another body; set verify_online = true`
  if (body === "part")
    yield `${sender} signs some members of the body only: anybody may have written the others`
  if (body === "form")
    yield `${sender} signs a form's parameters without separators: whoever has one signed request can cut them into others`
  if (isOpen && id && around.forgetsIds)
    yield `signed ids of ${sender} are kept in this process's memory, which a restart empties; add a Deduplicator with store = <folder> or redis://`
  if (body === "none" && !id) return
  if (!time && !(body === "whole" && around.dedupes))
    yield `${sender} signs no time: a captured request can be sent again at any time; where events have an id in the body, a Deduplicator by it (key = json:/...) takes each once`
  if (time && !checksTime)
    yield `the time that ${sender} signs is not checked: a captured request can be sent again ${id ? "when its id is forgotten, after 24 h" : "at any time"}; set tolerance`
}
