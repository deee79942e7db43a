import type { Event } from "../../pipeline/event.ts"
import { Answered } from "../../pipeline/outcome.ts"

/** Echoes untrusted text, never as something that a browser would execute. */
export const echo = (reason: string, body: string): Answered =>
  answer(reason, body, "text/plain; charset=utf-8")

export const json = (reason: string, value: object): Answered =>
  answer(reason, JSON.stringify(value), "application/json")

const answer = (reason: string, body: string, type: string): Answered =>
  new Answered(reason, { body, headers: { "Content-Type": type, "X-Content-Type-Options": "nosniff" } })

/** Avoids parsing events that lack a handshake's keyword. */
export const hasText = ({ body }: Event, word: string): boolean =>
  Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes(word)
