import type { Steps } from "../../clock/slices.ts"
import type { StartError } from "../../errors.ts"
import { hasRouteLines, isRouterKey } from "./route-lines.ts"
import type { Place } from "./problems.ts"

/**
 * The file's grammar.
 *
 *     # a comment; so is a line that begins with ;
 *     include = teams.d/*.conf
 *     [connection:kafka]
 *     key = value
 *     key: value
 *     list =
 *         a line that is indented deeper than its key continues the value
 *         # a comment in between does not end it
 *         nor does a blank line, which is part of the value
 *
 * In a Router's section a line that is none of its keys is `pattern = topic`, and a line of the value of `routes`.
 *
 * Keys may be indented (that is how files written for Python's configparser look) and are case-insensitive. A comment is
 * a line of its own: `#` and `;` inside a value belong to it. Text is UTF-8, with or without a byte-order mark; lines
 * end in LF or CRLF. Broken lines are reported and skipped; the rest is still read.
 */
export interface Ini {
  /** The one key that may stand before the first section. */
  readonly include: IniEntry | undefined
  readonly sections: readonly IniSection[]
}

export interface IniSection {
  /** The text between the brackets. */
  readonly name: string
  readonly line: number
  /** The texts by key, in lower case. */
  readonly entries: Map<string, IniEntry>
}

export interface IniEntry {
  /** The name as the file spells it. */
  readonly key: string
  readonly line: number
  /** The lines of the value, trimmed, without leading empty ones. */
  readonly lines: IniLine[]
}

interface IniLine {
  readonly text: string
  readonly line: number
}

/** @param error by default `invalid_line` */
type Report = (location: Place, text: string, error?: StartError) => void

/**
 * Names of keys. A line that begins otherwise may be part of a secret that was not indented: messages do not quote it.
 */
const KEY = /^[a-z][a-z0-9_.-]{0,39}$/i

const INCLUDE = /^include\s*[=:]/i

const STEP_LINES = 64

/**
 * Reads the bytes of a configuration file.
 *
 * @param report receives each problem
 */
export function* readIni(bytes: Uint8Array, report: Report): Steps<Ini> {
  const sections = new Map<string, IniSection>()
  const head = new Map<string, IniEntry>()
  let section: IniSection | undefined
  // The value that indented lines continue; a broken line's is dropped with it.
  let open: { indent: number; lines: IniLine[] } | undefined
  let blank: IniLine[] = []
  let strayReported = false

  let line = 0
  for (const raw of decode(bytes, report).split("\n")) {
    line++
    if (line % STEP_LINES === 0) yield
    const content = raw.trim()
    if (content === "") {
      blank.push({ text: "", line })
      continue
    }
    if (content.startsWith("#") || content.startsWith(";")) continue

    const indent = raw.length - raw.trimStart().length
    if (open !== undefined && indent > open.indent) {
      // what `key =` leaves before a value on the lines below is no part of it
      if (open.lines.length === 1 && open.lines[0]!.text === "") open.lines.length = 0
      else open.lines.push(...blank)
      open.lines.push({ text: content, line })
      blank = []
      continue
    }
    blank = []
    if (content.startsWith("[")) {
      open = undefined
      section = openSection(sections, content, line, report)
      continue
    }
    open = { indent, lines: [] }
    if (section !== undefined)
      open.lines = readEntry(section.entries, content, { line, section: section.name }, open.lines, report)
    else if (INCLUDE.test(content)) readEntry(head, content, { line }, open.lines, report)
    else {
      if (!strayReported)
        report(
          { line },
          "key outside a section; only include may stand there; begin with a section such as [connection:kafka]",
        )
      strayReported = true
    }
  }
  return { include: head.get("include"), sections: [...sections.values()] }
}

function decode(bytes: Uint8Array, report: Report): string {
  if (bytes.includes(0)) {
    report({ line: undefined }, "not UTF-8 text (contains NUL bytes); save the file as UTF-8")
    return ""
  }
  // TextDecoder removes the byte-order mark.
  const text = new TextDecoder().decode(bytes)
  if (!text.includes("\ufffd")) return text
  const strict = new TextDecoder("utf-8", { fatal: true })
  for (let start = 0, line = 1; start <= bytes.length; line++) {
    const found = bytes.indexOf(0x0a, start)
    const end = found === -1 ? bytes.length : found
    try {
      strict.decode(bytes.subarray(start, end))
    } catch {
      report({ line }, "invalid UTF-8; save the file as UTF-8")
    }
    start = end + 1
  }
  return text
}

function openSection(
  sections: Map<string, IniSection>,
  content: string,
  line: number,
  report: Report,
): IniSection {
  const end = content.indexOf("]")
  const name = content.slice(1, end === -1 ? undefined : end).trim()
  if (end === -1) report({ line, section: name }, "missing closing ]")
  else if (end < content.length - 1) {
    report({ line, section: name }, "text after the closing ]; comments need a line of their own")
  }
  const first = sections.get(name)
  if (first !== undefined) {
    const text = `duplicate section; move its keys to line ${first.line}`
    report({ line, section: name }, text, "duplicate_section")
    return first
  }
  const section = { name, line, entries: new Map<string, IniEntry>() }
  sections.set(name, section)
  return section
}

/** @returns the lines of the value, which indented ones continue */
function readEntry(
  entries: Map<string, IniEntry>,
  content: string,
  place: Place & { readonly line: number },
  lines: IniLine[],
  report: Report,
): IniLine[] {
  const { line, section = "" } = place
  if (hasRouteLines(section) && !isRouterKey(content)) {
    const routes = entries.getOrInsert("routes", { key: "routes", line, lines })
    // `routes =` with nothing after it has one line, an empty one
    if (routes.lines.length === 1 && routes.lines[0]!.text === "") routes.lines.length = 0
    routes.lines.push({ text: content, line })
    return routes.lines
  }
  const separator = content.search(/[=:]/)
  if (separator === -1) {
    report(place, "no = or : in the line; write key = value, or indent the line to continue a value")
    return lines
  }
  const key = content.slice(0, separator).trimEnd()
  if (!KEY.test(key)) {
    report(place, "invalid key; write key = value, or indent the line to continue a value")
    return lines
  }
  lines.push({ text: content.slice(separator + 1).trim(), line })
  const name = key.toLowerCase()
  const first = entries.get(name)
  if (first === undefined) entries.set(name, { key, line, lines })
  else {
    const text = `duplicate key, first set in line ${first.line}; remove one of them`
    report({ ...place, key }, text, "duplicate_key")
  }
  return lines
}
