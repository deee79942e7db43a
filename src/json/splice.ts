// Hot path: every event passes here.
import { asBuffer, CLOSE_BRACE, COMMA, OPEN_BRACE, isSpace, skipSpace, startOfText } from "./bytes.ts"
import { spells, type Name } from "./name.ts"
import { Items } from "./walk.ts"

/**
 * Puts members into a JSON object as its last ones, in place of those that have their names, and leaves every other byte as
 * it is: white space, the spelling of numbers and strings, duplicate names, the order.
 *
 * A byte-order mark goes. Of each top-level member with one of the names, however escaped, goes all that lies between the
 * delimiters (commas or braces) around it, white space included, with one comma. What stands before and after the object
 * stays.
 *
 *     { "a": 1, "source": {"b": 2} }   becomes   { "a": 1,"source":"webhook"}
 *
 * @param body a valid JSON object in UTF-8; not changed
 * @param names of letters and underscores, which JSON can't escape but as `\u....`
 * @param members the new members, as JSON without the braces: `"source":"webhook"`
 * @returns bytes of their own
 */
export function splice(body: Uint8Array, names: readonly Name[], members: Uint8Array): Uint8Array {
  const source = asBuffer(body)
  const start = startOfText(body)
  const close = body.lastIndexOf(CLOSE_BRACE)
  const result = new Uint8Array(body.length - start + 1 + members.length)
  let length = 0
  let from = start
  /** Keeps what lies between the last cut and this one; the cut of a last member ends after the closing brace. */
  const cut = (at: number, to: number): void => {
    if (at > from) length += source.copy(result, length, from, at)
    from = to
  }
  if (mayHold(source, names)) cutMembers(body, start, names, cut)
  cut(close, close)
  if (!endsWithOpenBrace(result, length)) result[length++] = COMMA
  result.set(members, length)
  length += members.length
  cut(body.length, body.length)
  return result.subarray(0, length)
}

const UNICODE_ESCAPE = "\\u"

/** Whether a member of the object, or anything else in it, may have one of the names. Three native searches. */
function mayHold(body: Buffer, names: readonly Name[]): boolean {
  return body.includes(UNICODE_ESCAPE, 0, "latin1") || names.some(({ quoted }) => body.includes(quoted))
}

/** Cuts out the members that have one of the names, from the first to the last. */
function cutMembers(
  body: Uint8Array,
  start: number,
  names: readonly Name[],
  cut: (from: number, to: number) => void,
): void {
  const members = new Items(body, skipSpace(body, start))
  let before = members.delimiter
  let kept = false
  while (members.next()) {
    const { nameStart, nameEnd, delimiter } = members
    if (!spellsAny(body, nameStart, nameEnd, names)) kept = true
    else if (kept) cut(before, delimiter)
    else cut(before + 1, delimiter + 1)
    before = delimiter
  }
}

function spellsAny(body: Uint8Array, start: number, end: number, names: readonly Name[]): boolean {
  for (const name of names) {
    if (spells(body, start, end, name)) return true
  }
  return false
}

/** Whether the object, as far as it is written, has no member yet. No value ends with a brace that opens. */
function endsWithOpenBrace(bytes: Uint8Array, length: number): boolean {
  let last = length - 1
  while (isSpace(bytes[last]!)) last--
  return bytes[last] === OPEN_BRACE
}
