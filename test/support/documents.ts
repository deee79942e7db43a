import { Glob } from "bun"
import { readFileSync } from "node:fs"
import { join } from "node:path"

export const ROOT = join(import.meta.dir, "../..")

/** A fenced block of a page. */
export interface Block {
  readonly page: string
  /** 1-based line of the opening fence. */
  readonly line: number
  /** Language behind the fence; empty: none. */
  readonly language: string
  readonly text: string
  /** The reason that the line before it gives, `_Not run by the tests: REASON._`. */
  readonly notRun: string | undefined
}

/** The pages that users read, by path within the project. */
export const pages = (): readonly string[] =>
  ["README.md", "SECURITY.md", "CONTRIBUTING.md", ...new Glob("docs/**/*.md").scanSync(ROOT)]
    .filter((page) => Bun.file(join(ROOT, page)).size > 0)
    .toSorted()

export const textOf = (page: string): string => readFileSync(join(ROOT, page), "utf8")

/** The fenced blocks of a page, in their order; those within a list without its indentation. */
export function blocksOf(page: string): readonly Block[] {
  const blocks: Block[] = []
  let open: (Omit<Block, "text"> & { indent: string; lines: string[] }) | undefined
  let before = ""
  for (const [index, line] of textOf(page).split("\n").entries()) {
    const [, indent = "", language] = /^( *)```(.*)$/.exec(line) ?? []
    if (open === undefined) {
      const notRun = /^ *_Not run by the tests: (.+)\._$/.exec(before)?.[1]
      if (language !== undefined)
        open = { page, line: index + 1, language: language.trim(), notRun, indent, lines: [] }
      if (line !== "") before = line
    } else if (language === "" && indent === open.indent) {
      const { indent: _, lines, ...block } = open
      blocks.push({ ...block, text: lines.join("\n") })
      open = undefined
    } else open.lines.push(line.replace(open.indent, ""))
  }
  if (open !== undefined) throw new Error(`${page}:${open.line}: a fenced block without an end`)
  return blocks
}

/** The file that a block is, by its first line: `# teams.d/payments.conf`. */
export const nameOf = ({ text }: Block): string | undefined => /^# (\S+\.conf)\n/.exec(text)?.[1]

/** The fenced blocks between a heading of a page and the next one. */
export function blocksBelow(page: string, heading: string): readonly Block[] {
  const lines = textOf(page).split("\n")
  const from = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, "") === heading)
  if (from === -1) throw new Error(`${page} has no heading ${heading}`)
  const blocks = blocksOf(page)
  const isInBlock = (at: number): boolean =>
    blocks.some(({ line, text }) => at >= line && at < line + text.split("\n").length)
  const to = lines.findIndex((line, at) => at > from && line.startsWith("#") && !isInBlock(at))
  return blocks.filter(({ line }) => line > from + 1 && (to === -1 || line <= to))
}

/** The sections of an INI text with their lines, by header: `[pipeline:webhooks:BrokerSink]`. */
export function sectionsOf(ini: string): Map<string, string> {
  const sections = new Map<string, string>()
  for (const part of ini.split(/^(?=\[)/m)) {
    const header = /^\[[^\]]+\]/.exec(part)?.[0]
    if (header !== undefined) sections.set(header, part.trim())
  }
  return sections
}

/** Warnings of `check` that a page or example may leave, and the words with which it has to say why. */
const EXPLAINED: readonly (readonly [warning: RegExp, words: RegExp])[] = [
  [/NOT VERIFIED/, /NOT VERIFIED/],
  [/IS ONLY OBSERVED/, /IS ONLY OBSERVED/],
  [/ADDRESSES ARE ONLY OBSERVED/, /allow_mode = observe`, of which `check` warns/],
  [/and without TLS others on the network can read the token/, /`check` warns/],
  [/every user of this machine can read all topics/, /every user of (?:this|the) machine/],
  [/refused records are kept as long as the log keeps them/, /keeps a parked record for its `retention`/],
]

/**
 * The warnings of `check` on a page's or example's configuration that it does not explain. Of an excerpt, what is warned of is
 * its own: not a source that completes it, which verifies nobody.
 */
export const unexplained = (
  warnings: readonly string[],
  text: string,
  isOwn: (section: string) => boolean = () => true,
): readonly string[] =>
  warnings.filter((it) => {
    const section = /\[.+?\]/.exec(it)?.[0] ?? ""
    if (it.includes("NOT VERIFIED") && !isOwn(section)) return false
    return !EXPLAINED.some(([warning, words]) => warning.test(it) && words.test(text))
  })

/**
 * A whole configuration around a page's excerpt: its sections take the place of those with the same header in `base`, a
 * connection that of every connection, and a pipeline that lacks a source or sink gets those of `base`.
 */
export function completed(excerpt: string, base: string): string {
  const given = sectionsOf(excerpt)
  const sections = sectionsOf(base)
  const named = [...given.keys()]
  if (named.some((header) => header.startsWith("[connection:")))
    for (const header of sections.keys()) if (header.startsWith("[connection:")) sections.delete(header)
  for (const header of named) {
    const id = /^\[pipeline:([^:]+):/.exec(header)?.[1]
    if (id === undefined) continue
    sections.set(`[pipeline:${id}:WebHookSource]`, `[pipeline:${id}:WebHookSource]\npath = /${id}`)
    sections.set(`[pipeline:${id}:BrokerSink]`, `[pipeline:${id}:BrokerSink]\ntopic = ${id}`)
  }
  for (const [header, text] of sectionsOf(base)) if (sections.has(header)) sections.set(header, text)
  for (const [header, text] of given) sections.set(header, text)
  return `${[...sections.values()].join("\n\n")}\n`
}
