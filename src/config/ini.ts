import type { Steps } from "../slices.ts"
import type { Place } from "./problems.ts"

/**
 * The file's grammar.
 *
 *     # a comment; so is a line that begins with ;
 *     [connection:kafka]
 *     key = value
 *     key: value
 *     list =
 *         a line that is indented deeper than its key continues the value
 *         # a comment in between does not end it
 *         nor does a blank line, which is part of the value
 *
 * Keys may be indented (that is how files written for Python's configparser look) and are case-insensitive. A comment is
 * a line of its own: `#` and `;` inside a value belong to it. Text is UTF-8, with or without a byte-order mark; lines
 * end in LF or CRLF. What is broken is told and passed over, so that everything else is still read.
 */
export interface IniSection {
  /** What stands between the brackets. */
  readonly name: string
  readonly line: number
  /** By key in lower case. */
  readonly entries: Map<string, IniEntry>
}

export interface IniEntry {
  /** As the file spells it. */
  readonly key: string
  readonly line: number
  /** The lines of the value, trimmed. An empty first one is left out when others follow. */
  readonly lines: readonly IniLine[]
}

interface IniLine {
  readonly text: string
  readonly line: number
}

type Tell = (place: Place, text: string) => void

/**
 * Names of keys. A line that begins otherwise may well be a piece of a secret that should have been indented: messages
 * do not quote it.
 */
const KEY = /^[a-z][a-z0-9_.-]{0,39}$/i

/**
 * Reads the bytes of a configuration file.
 *
 * @param tell is called with each thing that is wrong, by line
 */
export function* readIni(bytes: Uint8Array, tell: Tell): Steps<IniSection[]> {
  return yield* readSections(decode(bytes, tell), tell)
}

/** Lines that are read in one step. */
const STEP_LINES = 64

function decode(bytes: Uint8Array, tell: Tell): string {
  if (bytes.includes(0)) {
    tell({ line: undefined }, "is not a text file in UTF-8 (it has NUL bytes); save it as UTF-8")
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
      tell({ line }, "the line is not UTF-8; save the file as UTF-8")
    }
    start = end + 1
  }
  return text
}

function* readSections(text: string, tell: Tell): Steps<IniSection[]> {
  const sections = new Map<string, IniSection>()
  let section: IniSection | undefined
  // The value that indented lines continue. A broken line has one too, which is dropped with it.
  let open: { indent: number; lines: IniLine[] } | undefined
  let blank: IniLine[] = []
  let strayTold = false

  for (const [index, raw] of text.split("\n").entries()) {
    const line = index + 1
    if (line % STEP_LINES === 0) yield
    const content = raw.trim()
    if (content === "") {
      blank.push({ text: "", line })
      continue
    }
    if (content.startsWith("#") || content.startsWith(";")) continue

    const indent = raw.length - raw.trimStart().length
    if (open !== undefined && indent > open.indent) {
      open.lines.push(...blank, { text: content, line })
      blank = []
      continue
    }
    blank = []
    if (content.startsWith("[")) {
      open = undefined
      section = openSection(sections, content, line, tell)
      continue
    }
    open = { indent, lines: [] }
    if (section === undefined) {
      if (!strayTold)
        tell({ line }, "stands before the first section; begin with one such as [connection:kafka]")
      strayTold = true
      continue
    }
    readEntry(section, content, line, open.lines, tell)
  }
  const all: IniSection[] = []
  for (const read of sections.values()) {
    all.push({ ...read, entries: withoutEmptyStarts(read.entries) })
    yield
  }
  return all
}

/** `key =` with the value on the lines below is the value below, not one that begins with an empty line. */
function withoutEmptyStarts(entries: Map<string, IniEntry>): Map<string, IniEntry> {
  const starts = (lines: readonly IniLine[]): number =>
    Math.max(
      0,
      lines.findIndex(({ text }) => text !== ""),
    )
  return new Map(
    [...entries].map(([key, entry]) => [key, { ...entry, lines: entry.lines.slice(starts(entry.lines)) }]),
  )
}

function openSection(
  sections: Map<string, IniSection>,
  content: string,
  line: number,
  tell: Tell,
): IniSection {
  const end = content.indexOf("]")
  const name = content.slice(1, end === -1 ? undefined : end).trim()
  if (end === -1) tell({ line, section: name }, "the line misses its closing ]")
  else if (end < content.length - 1) {
    tell({ line, section: name }, "text follows the closing ]; a comment wants a line of its own")
  }
  const first = sections.get(name)
  if (first !== undefined) {
    tell({ line, section: name }, `is there twice; put its keys into the first one, in line ${first.line}`)
    return first
  }
  const section = { name, line, entries: new Map<string, IniEntry>() }
  sections.set(name, section)
  return section
}

function readEntry(section: IniSection, content: string, line: number, lines: IniLine[], tell: Tell): void {
  const separator = content.search(/[=:]/)
  if (separator === -1) {
    tell(
      { line, section: section.name },
      "the line has neither = nor :; write key = value, or indent it to continue a value",
    )
    return
  }
  const key = content.slice(0, separator).trim()
  if (!KEY.test(key)) {
    tell(
      { line, section: section.name },
      "the line does not begin with a key; write key = value, or indent it to continue a value",
    )
    return
  }
  lines.push({ text: content.slice(separator + 1).trim(), line })
  const first = section.entries.get(key.toLowerCase())
  if (first === undefined) section.entries.set(key.toLowerCase(), { key, line, lines })
  else
    tell(
      { line, section: section.name, key },
      `is given twice, first in line ${first.line}; remove one of them`,
    )
}
