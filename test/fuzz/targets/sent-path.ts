import assert from "node:assert/strict"
import { isAsSent } from "../../../src/http/routes.ts"
import type { Target } from "../target.ts"

/** A segment with its escapes decoded, as Bun gives a route's parameters. */
function parameter(segment: string): string {
  const escapes = segment.replaceAll(/%(?![0-9a-f]{2})/gi, "%EF%BF%BD")
  const bytes = escapes.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return Buffer.from(bytes, "latin1").toString()
}

/** Whether a path was sent as the URL standard leaves it. */
export const sentPath: Target = {
  name: "sent-path",
  seeds: [
    "/private",
    "/hooks/a/",
    "/hooks/../private",
    "/hooks\\..\\private",
    "/%2e%2E/a",
    "/caf%C3%A9/%2f",
    "/a;b/c#d",
  ],
  words: ["/", "..", ".", "%2e", "%2E", "%2f", "%5c", "\\", "%25", "%zz", "%ff", "#", ";", "//", "%EF%BF%BD"],
  check(bytes) {
    const path = Buffer.from(bytes)
      .toString("latin1")
      .replaceAll(/[^!-~]|\?/g, "")
    const end = path.endsWith("/") ? "/" : ""
    const segments = path.slice(1, path.length - end.length).split("/")
    // Bun's parameters are never empty
    if (!path.startsWith("/") || path === "/" || segments.includes("")) return
    const names = segments.map((_, at) => `s${at}`)
    const sent = Object.fromEntries(segments.map((segment, at) => [names[at]!, parameter(segment)]))
    const { href, pathname } = new URL(`http://host${path}`)
    const given = isAsSent(names, sent, href.slice("http://host".length), end)
    // characters that a URL may not have count as their escapes
    const escaped = path.replaceAll(/["<>^`{}]/g, (it) => `%${it.charCodeAt(0).toString(16).toUpperCase()}`)
    const isUtf8 = segments.every((segment) => !parameter(segment).includes("\ufffd"))
    assert.equal(given, pathname === escaped && !path.includes("#") && isUtf8, `${path} is ${pathname}`)
  },
}
