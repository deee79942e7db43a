import type { Links } from "./links.ts"
import { withLinks } from "./links.ts"
import { descriptionOf, plain, titleOf, type Page } from "./page.ts"

export interface Group {
  readonly label: string
  readonly items: readonly { readonly label: string; readonly link: string }[]
  readonly collapsed?: boolean
}

/** The tables of docs/README.md, as groups: a row's first link, by its first cell. */
export function groupsOf(index: Page, links: Links): Group[] {
  const groups: Group[] = []
  let label = "Situations"
  for (const line of withLinks(index, links, "/").split("\n")) {
    label = /^(\w.*):$/.exec(line)?.[1] ?? label
    const [, first = "", second = ""] = /^\| (.*?) \| (.*) \|$/.exec(line) ?? []
    const link = /\]\((\/[^)]*)\)/.exec(`${first}${second}`)?.[1]
    if (link === undefined) continue
    const items = [{ label: plain(first).trim(), link }]
    const group = groups.find((it) => it.label === label)
    if (group === undefined) groups.push({ label, items })
    else groups[groups.indexOf(group)] = { label, items: [...group.items, ...items] }
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
