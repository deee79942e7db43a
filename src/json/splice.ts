// Hot path: every event passes here.
import { asBuffer, CLOSE_BRACE, COMMA, OPEN_BRACE, isSpace, skipSpace, startOfText } from "./bytes.ts"
import { spells, type Name } from "./name.ts"
import { readItem } from "./walk.ts"

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
  const start = startOfText(body)
  const close = body.lastIndexOf(CLOSE_BRACE)
  const result = new Uint8Array(body.length - start + 1 + members.length)
  let length = 0
  let from = start
  for (const cut of mayHold(body, names) ? cuts(body, start, names) : []) {
    result.set(body.subarray(from, cut.from), length)
    length += cut.from - from
    from = cut.to
  }
  result.set(body.subarray(from, close), length)
  length += close - from
  if (!endsWithOpenBrace(result, length)) result[length++] = COMMA
  result.set(members, length)
  length += members.length
  result.set(body.subarray(close), length)
  return result.subarray(0, length + body.length - close)
}

const UNICODE_ESCAPE = "\\u"

/** Whether a member of the object, or anything else in it, may have one of the names. Three native searches. */
function mayHold(body: Uint8Array, names: readonly Name[]): boolean {
  const buffer = asBuffer(body)
  return buffer.includes(UNICODE_ESCAPE, 0, "latin1") || names.some(({ quoted }) => buffer.includes(quoted))
}

/** The stretches of the object to leave out, in order. */
function cuts(body: Uint8Array, start: number, names: readonly Name[]): { from: number; to: number }[] {
  const found = []
  let kept = false
  let cell = skipSpace(body, start) + 1
  for (let item = readItem(body, cell, true); item !== undefined;) {
    const { nameStart, nameEnd, delimiter, last } = item
    if (!names.some((name) => spells(body, nameStart, nameEnd, name))) kept = true
    else if (kept) found.push({ from: cell - 1, to: delimiter })
    else found.push({ from: cell, to: last ? delimiter : delimiter + 1 })
    cell = delimiter + 1
    item = last ? undefined : readItem(body, cell, true)
  }
  return found
}

/** Whether the object, as far as it is written, has no member yet. No value ends with a brace that opens. */
function endsWithOpenBrace(bytes: Uint8Array, length: number): boolean {
  let last = length - 1
  while (isSpace(bytes[last]!)) last--
  return bytes[last] === OPEN_BRACE
}
