/** A page of the site, as Markdown. */
export interface Page {
  /** Its address without slashes at the ends: `senders/stripe`; empty: the start page. */
  readonly route: string
  /** The file that its links start from, by its path in the repository. */
  readonly file: string
  /** With its title as the first line. */
  readonly markdown: string
  /** Default: its first paragraph. */
  readonly description?: string
  /** Elements of its head, as Starlight has them. */
  readonly head?: readonly object[]
}

/** Without emphasis, code and links. */
export const plain = (markdown: string): string =>
  markdown.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "")

export const titleOf = ({ file, markdown }: Page): string => {
  const title = /^# (.+)$/m.exec(markdown)?.[1]
  if (title === undefined) throw new Error(`${file} has no title`)
  return plain(title)
}

/** The text below the title. */
export const textOf = ({ markdown }: Page): string => markdown.replace(/^# .+\n+/m, "")

/** The first paragraph, as search engines show it. */
export function descriptionOf(page: Page): string {
  if (page.description !== undefined) return page.description
  const paragraph =
    textOf(page)
      .split(/\n\s*\n/)
      .find((it) => /^(?!```)[\w`*[].{30}/s.test(it)) ?? titleOf(page)
  const text = plain(paragraph).replaceAll(/\s+/g, " ")
  return text.length <= 160 ? text : `${text.slice(0, 157).replace(/\s\S*$/, "")} …`
}

/** As GitHub makes the fragment of a heading. */
export const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-")
