/*
 * Segments of paths that a configuration has from the environment or from a file. As a token in a webhook's URL they may be
 * secret, and every sender's request has them: whatever this process prints of a path or a URL leaves them out, from the moment
 * that a configuration with them was read.
 */

const hidden = new Set<string>()
let pattern: RegExp | undefined

/** Hides the segments of a path that have one of these texts, or a part of one. */
export function hideSegments(path: string, substituted: readonly string[]): void {
  const parts = substituted.flatMap((text) => text.split("/")).filter((part) => part !== "" && part !== "*")
  const found = path.split("/").filter((segment) => parts.some((part) => segment.includes(part)))
  const before = hidden.size
  for (const segment of found) {
    hidden.add(segment)
    // as requests arrive with it
    hidden.add(new URL(`http://host/${segment}`).pathname.slice(1))
  }
  if (hidden.size > before) pattern = patternOf([...hidden])
}

/** A text whose paths and URLs have `…` in place of the hidden segments; the same text where there are none. */
export const withoutHidden = (text: string): string =>
  pattern === undefined ? text : text.replace(pattern, "…")

function patternOf(segments: readonly string[]): RegExp {
  const alternatives = segments
    .toSorted((a, b) => b.length - a.length)
    .map((segment) => segment.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"))
  return new RegExp(`(?<=/)(?:${alternatives.join("|")})(?![^/?#"'\\s,;)\\\\])`, "g")
}
