import { withLinks, type Links } from "./links.ts"
import { descriptionOf, plain, titleOf, type Page } from "./page.ts"

interface Group {
  readonly label: string
  readonly items: { readonly label: string; readonly link: string }[]
}

/** The tables of docs/README.md, as groups: a row's first link, by its first cell. */
export function groupsOf(index: Page, links: Links): Group[] {
  const groups: Group[] = [{ label: "Situations", items: [] }]
  for (const line of withLinks(index, links, "/").split("\n")) {
    const label = /^(\w.*):$/.exec(line)?.[1]
    if (label !== undefined) groups.push({ label, items: [] })
    const [, first = "", second = ""] = /^\| (.*?) \| (.*) \|$/.exec(line) ?? []
    const link = /\]\((\/[^)]*)\)/.exec(`${first}${second}`)?.[1]
    if (link !== undefined) groups.at(-1)!.items.push({ label: plain(first).trim(), link })
  }
  return groups
}

/** Each page's Markdown with what it is about, for language models: https://llmstxt.org */
export function llmsText(start: Page, pages: readonly Page[]): string {
  const list = (route: RegExp): string =>
    pages
      .filter((page) => page !== start && route.test(page.route))
      .map((page) => `- [${titleOf(page)}](/${page.route}.md): ${descriptionOf(page)}\n`)
      .join("")
  const parts = [
    `# ${titleOf(start)}\n\n> ${descriptionOf(start)}\n`,
    `## Documentation\n\n${list(/^(?!senders\/|errors\/|decisions\/)/)}`,
    `## Senders\n\n${list(/^senders\//)}`,
    `## Refusals and errors\n\n${list(/^errors\//)}`,
    `## Optional\n\n${list(/^decisions\//)}`,
  ]
  return parts.join("\n")
}
