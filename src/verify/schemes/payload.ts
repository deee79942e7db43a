import { WrongSetting } from "./family.ts"

/** The signed bytes in pieces: UTF-8 text or bytes. */
export type Signed = readonly (string | Uint8Array)[]

const PLACEHOLDERS = ["timestamp", "id", "method", "url", "body"] as const
type PayloadPart = (typeof PLACEHOLDERS)[number]

/** Values of a template's placeholders. */
type PayloadParts = { readonly [part in PayloadPart]: part extends "body" ? Uint8Array : string }

export type Payload = (parts: PayloadParts) => Signed

/**
 * Parses a template of the signed text, with the placeholders `{timestamp}`, `{id}`, `{method}`, `{url}` and `{body}`.
 *
 * @throws WrongSetting for another name in braces, or without `{body}`
 */
export function parsePayload(template: string): Payload {
  const pieces = template.split(/\{(\w*)\}/)
  const found = new Set<string>()
  for (let i = 1; i < pieces.length; i += 2) {
    const placeholder = PLACEHOLDERS.find((it) => it === pieces[i])
    if (placeholder === undefined)
      throw new WrongSetting(
        "payload",
        `unknown placeholder {${pieces[i]}}; expected one of ${PLACEHOLDERS.map((it) => `{${it}}`).join(", ")}`,
      )
    found.add(placeholder)
  }
  if (!found.has("body")) throw new WrongSetting("payload", "has no {body}")
  if (template === "{body}") return ({ body }) => [body]

  // hot path: adjacent text is joined
  return (parts) => {
    const signed: (string | Uint8Array)[] = []
    let text = pieces[0]!
    for (let i = 1; i < pieces.length; i += 2) {
      const value = parts[pieces[i] as PayloadPart]
      if (typeof value === "string") text += value
      else {
        if (text !== "") signed.push(text)
        signed.push(value)
        text = ""
      }
      text += pieces[i + 1]!
    }
    if (text !== "") signed.push(text)
    return signed
  }
}

export function joinSigned(signed: Signed): Uint8Array {
  return Buffer.concat(signed.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)))
}
