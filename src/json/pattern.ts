// Hot path: every event of a pipeline with a Filter or a Router passes here.
import { asBuffer } from "./tokens.ts"

/** Whether a value, in UTF-8, matches. */
type Matches = (value: Uint8Array) => boolean

/**
 * Compiles a pattern: `*` matches any run of bytes, the empty one too; everything else matches itself, in the same case.
 *
 * The parts between the stars are searched one after the other, the leftmost occurrence of each, and never again: time is
 * linear in the value, whatever pattern and value.
 */
export function compilePattern(pattern: string): Matches {
  const [start, ...rest] = pattern.split("*").map((part) => Buffer.from(part))
  const end = rest.pop()
  if (end === undefined) return (value) => start!.equals(value)
  const between = rest.filter((part) => part.length > 0)
  return (value) => {
    const endsAt = value.length - end.length
    if (endsAt < start!.length || !isAt(value, start!, 0) || !isAt(value, end, endsAt)) return false
    const bytes = asBuffer(value)
    let at = start!.length
    for (const part of between) {
      const found = bytes.indexOf(part, at)
      if (found === -1) return false
      at = found + part.length
    }
    return at <= endsAt
  }
}

/** Whether any of some patterns matches. */
export function compilePatterns(patterns: readonly string[]): Matches {
  const all = patterns.map(compilePattern)
  return (value) => all.some((matches) => matches(value))
}

function isAt(value: Uint8Array, part: Uint8Array, at: number): boolean {
  for (let i = 0; i < part.length; i++) if (value[at + i] !== part[i]) return false
  return true
}
