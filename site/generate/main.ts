/**
 * Writes what Astro builds the site from: the pages of docs/ where they are, a page for each sender, refusal and path of the
 * admin API, each also as plain Markdown, and the files that they link to.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { documents, ERRORS, sectionRoutes } from "./documents.ts"
import { copyOf, withLinks, type Links } from "./links.ts"
import { senderPages } from "./senders.ts"
import { descriptionOf, textOf, titleOf, type Page } from "./page.ts"
import { folderGroup, groupsOf } from "./sidebar.ts"

const root = join(import.meta.dir, "../..")
const site = join(import.meta.dir, "..")
const content = join(site, "src/content/docs")
const published = join(site, "public")

const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

const index: Page = {
  route: "",
  file: "docs/README.md",
  markdown: readFileSync(join(root, "docs/README.md"), "utf8"),
}
const start: Page = {
  ...index,
  markdown: [
    readFileSync(join(site, "pages/start.md"), "utf8"),
    index.markdown.replace("# Documentation\n", "## What are you looking for?\n"),
  ].join("\n"),
}
const others = [...documents(root), ...(await senderPages())]
const pages = [start, ...others]
const links: Links = {
  root,
  sections: sectionRoutes(others),
  routes: new Map(
    // of the pages that a file is split into, the first
    pages.toReversed().map((it) => [it.file, it.route]),
  ),
  copied: new Set(),
}
const [situations, ...subjects] = groupsOf(index, links)
const sidebar = [
  situations!,
  { label: "Senders", link: "/senders/" },
  ...(links.routes.has(ERRORS) ? [{ label: "Refusals and errors", link: "/errors/" }] : []),
  ...subjects,
  ...folderGroup("Cookbook", "cookbook", pages),
  ...folderGroup("Migrating", "migrating", pages),
]

for (const folder of [content, published]) rmSync(folder, { recursive: true, force: true })
for (const page of pages) {
  const markdown = `/${page.route || "index"}.md`
  const rendered = { ...page, markdown: withLinks(page, links, "/") }
  const head = [{ tag: "link", attrs: { rel: "alternate", type: "text/markdown", href: markdown } }]
  const frontMatter = [
    `title: ${JSON.stringify(titleOf(page))}`,
    `description: ${JSON.stringify(descriptionOf(page))}`,
    `head: ${JSON.stringify(head)}`,
  ]
  const text = `---\n${frontMatter.join("\n")}\n---\n\n${textOf(rendered)}\n\n[This page as Markdown](${markdown})\n`
  write(join(content, `${page.route || "index"}.md`), text)
  write(join(published, markdown), withLinks(page, links, ".md"))
}
for (const file of links.copied) cpSync(join(root, file), join(published, copyOf(file)))
cpSync(join(root, "console/icon.svg"), join(published, "favicon.svg"))
write(join(site, "src/sidebar.json"), JSON.stringify(sidebar, null, 2))
console.log(`${pages.length} pages, ${links.copied.size} files`)
