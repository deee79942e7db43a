import { Glob } from "bun"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { PRESETS } from "../../src/verify/presets/presets.ts"
import { slugOf, type Page } from "./page.ts"

const ROOT_PAGES: { readonly [file: string]: string } = {
  "CHANGELOG.md": "changelog",
  "CONTRIBUTING.md": "contributing",
  "SECURITY.md": "security-policy",
}

/** Pages of docs/ whose sections are pages of the site, and the heading below which they are. */
const PROVIDERS = "docs/providers.md"
const ERRORS = "docs/errors.md"

/** docs/decisions/README.md is at `decisions`. */
const routeOf = (file: string): string =>
  ROOT_PAGES[file] ?? file.replace(/^docs\//, "").replace(/(\/?README)?\.md$/, "")

/** The repository's Markdown files, as they are there. README.md and docs/README.md are the start page. */
export function documents(root: string): Page[] {
  const files = [...Object.keys(ROOT_PAGES), ...new Glob("docs/**/*.md").scanSync(root)].toSorted()
  return files
    .filter((file) => file !== "docs/README.md")
    .flatMap((file) => {
      const page = { route: routeOf(file), file, markdown: readFileSync(join(root, file), "utf8") }
      if (file === ERRORS) return errorPages(page)
      return file === PROVIDERS ? { ...page, markdown: withoutSenders(page.markdown) } : page
    })
}

/** Each sender has a page of its own: of their sections a list remains. */
function withoutSenders(markdown: string): string {
  const [before, after] = markdown.split("\n## Each sender\n")
  if (after === undefined) throw new Error(`${PROVIDERS} has no section "Each sender"`)
  const [introduction] = after.split(/^(?:### |<!-- )/m)
  const list = Object.entries(PRESETS).map(
    ([name, { title }]) => `- [${title}](#${slugOf(title)}): \`${name}\``,
  )
  return `${before}\n## Each sender\n${introduction}${list.join("\n")}\n`
}

/** A page for each `##` section, after one that lists them below the `#` headings that they have. */
function errorPages(page: Page): Page[] {
  const [introduction = "", ...parts] = page.markdown.split(/^(?=##? )/m)
  const pages: Page[] = []
  const list = parts.map((part) => {
    if (part.startsWith("# ")) return `\n#${part.trimEnd()}\n\n`
    const name = /^## (.+)$/m.exec(part)![1]!
    const markdown = part.replaceAll(/^#(#+ )/gm, "$1")
    pages.push({ route: `${page.route}/${slugOf(name)}`, file: page.file, markdown })
    const means = /^\*\*Means\*\*: (.+?)[.:](?= |$)/m.exec(part)![1]!
    return `- [\`${name}\`](#${slugOf(name)}): ${means}.\n`
  })
  return [{ ...page, markdown: `${introduction}${list.join("")}` }, ...pages]
}

/** Addresses of sections that are pages of their own. */
export function sectionRoutes(pages: readonly Page[]): Map<string, string> {
  const senders = Object.entries(PRESETS).map(([name, { title }]): [string, string] => [
    `${PROVIDERS}#${slugOf(title)}`,
    `senders/${name}`,
  ])
  const errors = pages
    .filter(({ file, route }) => file === ERRORS && route.includes("/"))
    .map(({ route }): [string, string] => [`${ERRORS}#${route.split("/")[1]}`, route])
  return new Map([...senders, ...errors])
}
