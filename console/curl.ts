import { textOf } from "./base64.ts"

export interface CurlRequest {
  readonly method: string
  readonly url: string
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  /** null: none. */
  readonly body: Uint8Array | null
}

/** Headers that curl sets by itself, or that belong to a connection. */
const OWN =
  /^(host|content-length|connection|keep-alive|transfer-encoding|accept-encoding|expect|te|trailer|upgrade)$/i

/** Longer ones are broken before each option. */
const ONE_LINE = 110

/** Linux starts no program with a longer argument, and a page is slow to show one. */
const MOST_INLINE_BYTES = 96 * 1024

/** A command for a POSIX shell that sends the request with the same bytes; a large body is one that the caller has saved. */
export function curlOf({ method, url, headers, body }: CurlRequest): string {
  if (body !== null && body.length > MOST_INLINE_BYTES) {
    const saved = curlOf({ method, url, headers, body: new Uint8Array() })
    return `# the body has ${body.length} bytes: save it as ./body first\n${saved.replace(/--data-raw ''$/, "--data-binary @body")}`
  }
  const sent = headers.filter(({ name }) => !OWN.test(name))
  const hasType = sent.some(({ name }) => name.toLowerCase() === "content-type")
  const text = body === null || body.includes(0) ? undefined : textOf(body)
  const parts = [
    "curl -i",
    ...(method === "POST" && body !== null ? [] : [`-X ${quoted(method)}`]),
    quoted(url),
    // `Name;` sends an empty one; `Name:` leaves out what curl would add
    ...sent.map(({ name, value }) => `-H ${quoted(value === "" ? `${name};` : `${name}: ${value}`)}`),
    ...(hasType || body === null ? [] : ["-H 'Content-Type:'"]),
    ...(body === null ? [] : [text === undefined ? "--data-binary @-" : `--data-raw ${quoted(text)}`]),
  ]
  const line = parts.join(" ")
  const command = line.length <= ONE_LINE ? line : parts.join(" \\\n  ")
  return body === null || text !== undefined ? command : `echo ${toBase64(body)} | base64 -d | ${command}`
}

const quoted = (text: string): string =>
  /^[\w./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

function toBase64(bytes: Uint8Array): string {
  let binary = ""
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}
