import { blank, message, named, setting, type Message } from "../../message.ts"
import type { Steps } from "../../clock/slices.ts"
import { locateEventPart, type KnownSender } from "../../components/known-sender.ts"
import { idInBody, presetOf } from "../../verify/senders.ts"
import { type Coverage, nameOf, type ProviderRef } from "../../verify/verification.ts"
import { connectionOf, type ResolvedDraft } from "./resolved-draft.ts"
import { senderIn, senderOf } from "../../components/processor-facts.ts"

/** Warns of replays that a signature scheme allows. */
export function* warnOfReplay({ pipelines, connections, admin, problems }: ResolvedDraft): Steps<void> {
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
    // with replicas it takes a store that all share, see replica-checks.ts
    const forgetsIds = isInMemory && kind.logFolder === undefined && admin.values.replicas === undefined
    for (const part of parts) {
      const { values, where } = part
      const { name, covers, checksTime = false } = senderIn(part) ?? {}
      if (name === undefined || covers === undefined || values.mode === "observe") continue
      const around = { sender, checksTime, dedupes, forgetsIds, lowering: loweringKey(part) }
      for (const text of warningsOf(values.provider as ProviderRef, covers, around))
        problems.warn(where("provider"), text)
    }
  }
}

interface Around {
  /** The sender that the pipeline's last Verifier lets pass. */
  readonly sender: KnownSender | undefined
  /** Whether the signed time is compared with the clock. */
  readonly checksTime: boolean
  /** Whether a Deduplicator's key is signed. */
  readonly dedupes: boolean
  /** Whether a restart forgets signed ids. */
  readonly forgetsIds: boolean
  /** An option without which a time would be signed. */
  readonly lowering: string | undefined
}

/** What the configuration leaves open, with what would close it. What a sender's scheme leaves open anyway is in providers.md. */
function* warningsOf(provider: ProviderRef, { body, time, id }: Coverage, around: Around): Iterable<Message> {
  const name = nameOf(provider)
  const again = "a captured request can be sent again"
  if (body === "checksum")
    yield message`${name} signs the body's CRC-32 only, which other bodies can match; set ${setting("verify_online", "true")}`
  if ((body === "checksum" || body === "none") && id && around.forgetsIds)
    yield message`signed ids of ${name} are kept in this process's memory, which a restart empties; add a Deduplicator with ${blank("store", "folder")} or redis://`
  const signing = SIGNING[name]
  if (signing !== undefined)
    yield message`${name} signs nothing: who captures a request can send any body; give the webhook a signing token, and set ${setting("provider", signing)}`
  if (time && !around.checksTime)
    yield `the time that ${name} signs is not checked: ${again} ${id ? "when its id is forgotten, after 24 h" : "at any time"}; set tolerance`
  if (time) return
  if (around.lowering !== undefined)
    yield message`with ${named(around.lowering)} ${name} signs no time: ${again} at any time; remove ${named(around.lowering)}`
  else if (body === "whole" && !around.dedupes) {
    const way = wayToKnow(provider, around.sender)
    if (way !== undefined) yield message`${name} signs no time: ${again} at any time; ${way}`
  }
}

/** Presets that take the place of others that sign nothing, for webhooks that are set up so. */
const SIGNING: { readonly [preset: string]: string | undefined } = { gitlab: "gitlab-signing-token" }

/** How a Deduplicator knows a captured request again: by an id in the body; undefined: events have none there. */
function wayToKnow(provider: ProviderRef, sender: KnownSender | undefined): Message | undefined {
  const { event = {} } = sender ?? {}
  const place = idInBody(event)
  if (place !== undefined) return message`a Deduplicator with ${setting("key", place)} takes each once`
  const isKnown = typeof provider === "string" ? presetOf(provider) !== undefined : event.id !== undefined
  return isKnown
    ? undefined
    : message`where events have an id in the body, a Deduplicator by it (${setting("key", "json:/...")}) takes each once`
}

/** An option that a scheme signs no time with, and would without it. */
function loweringKey(part: Parameters<typeof senderIn>[0]): string | undefined {
  if (senderIn(part)?.covers?.time !== false) return undefined
  return Object.keys(part.values).find(
    (key) =>
      part.values[key] !== undefined &&
      part.component.sender?.({ ...part.values, [key]: undefined })?.covers?.time === true,
  )
}
