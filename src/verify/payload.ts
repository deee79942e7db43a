import { WrongSetting } from "./family.ts"

/** What a scheme signs, in pieces: text in UTF-8, or bytes. */
export type Signed = readonly (string | Uint8Array)[]

/** The values that a template's places stand for. */
interface PayloadParts {
  readonly timestamp: string
  readonly id: string
  readonly method: string
  readonly url: string
  readonly body: Uint8Array
}

const PLACES = ["timestamp", "id", "method", "url", "body"] as const
type Place = (typeof PLACES)[number]

/** Fills a template. */
export type Payload = (parts: PayloadParts) => Signed

/**
 * Reads a template of what is signed: text with `{timestamp}`, `{id}`, `{method}`, `{url}` and `{body}` in it.
 *
 * @throws WrongSetting for another name in braces, or when the body is not signed
 */
export function parsePayload(template: string): Payload {
  const pieces = template.split(/\{(\w*)\}/)
  const places = new Set<string>()
  for (let i = 1; i < pieces.length; i += 2) {
    const place = PLACES.find((it) => it === pieces[i])
    if (place === undefined)
      throw new WrongSetting(
        "payload",
        `{${pieces[i]}} is none of ${PLACES.map((it) => `{${it}}`).join(", ")}`,
      )
    places.add(place)
  }
  if (!places.has("body")) throw new WrongSetting("payload", "has no {body}")
  if (template === "{body}") return ({ body }) => [body]

  // Hot path: text between two bodies is joined to one piece.
  return (parts) => {
    const signed: (string | Uint8Array)[] = []
    let text = pieces[0]!
    for (let i = 1; i < pieces.length; i += 2) {
      const value = parts[pieces[i] as Place]
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

/** The pieces as one. */
export function joinSigned(signed: Signed): Uint8Array {
  return Buffer.concat(signed.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)))
}
