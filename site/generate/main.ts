/**
 * Writes what Astro builds the site from: the pages of docs/ where they are, a page for each sender, refusal and path of the
 * admin API, each also as plain Markdown, and the files that they link to. With `--pictures` those of the admin page are taken
 * anew, in Chromium, from a service that runs for seconds.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { parseArgs } from "node:util"
import { bundle } from "../../scripts/build-verify.ts"
import { whyPage } from "./why.ts"
import { adminApiDocument } from "../../scripts/admin-api-document.ts"
import { apiPage, type OpenApi } from "./api.ts"
import { libraryPage } from "./library.ts"
import { proofPage } from "./proof.ts"
import { documents, sectionRoutes } from "./documents.ts"
import { copyOf, withLinks, type Links } from "./links.ts"
import { senderPages } from "./senders.ts"
import { descriptionOf, textOf, titleOf, type Page } from "./page.ts"
import { groupsOf, llmsText } from "./sidebar.ts"

const { pictures } = parseArgs({ options: { pictures: { type: "boolean" } } }).values
const root = join(import.meta.dir, "../..")
const site = join(import.meta.dir, "..")
const content = join(site, "src/content/docs")
const published = join(site, "public")

/** With links that start from the root, below a heading in place of its title. */
const fromRoot = ({ markdown }: Page): string =>
  markdown
    .replace(/^# .+$/m, "## Index")
    .replaceAll(/\]\((?!\.\.\/|[a-z]+:|#)/g, "](docs/")
    .replaceAll("](../", "](")

const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

const read = (file: string): string => readFileSync(join(root, file), "utf8")
const index: Page = { route: "", file: "docs/README.md", markdown: read("docs/README.md") }
const start: Page = { route: "", file: "README.md", markdown: `${read("README.md")}\n${fromRoot(index)}` }
const document = (await adminApiDocument()) as OpenApi
const others = [
  ...documents(root),
  ...(await senderPages()),
  whyPage(site),
  apiPage(document),
  libraryPage(root),
  proofPage(read("docs/reliability.md")),
]
const pages = [start, ...others]
const links: Links = {
  root,
  sections: sectionRoutes(others),
  routes: new Map(
    // of the pages that a file is split into, the first
    [index, ...pages].toReversed().map((it) => [it.file, it.route]),
  ),
  copied: new Set(),
}
const [situations, ...subjects] = groupsOf(index, links)
const single = (label: string, route: string): object => ({ label, link: `/${route}/` })
const sidebar = [
  situations,
  single("Why your webhook fails", "why"),
  single("Senders", "senders"),
  single("Refusals and errors", "errors"),
  single("The proof", "proof"),
  ...subjects,
  single("Library API", "library-api"),
  single("Admin API", "admin-api"),
]

// Astro keeps pages that it has rendered, also with another configuration
for (const folder of [content, published, join(site, ".astro"), join(site, "node_modules/.astro")])
  rmSync(folder, { recursive: true, force: true })
for (const page of pages) {
  const markdown = `/${page.route || "index"}.md`
  const rendered = { ...page, markdown: withLinks(page, links, "/") }
  const head = [{ tag: "link", attrs: { rel: "alternate", type: "text/markdown", href: markdown } }]
  const frontMatter = [
    `title: ${JSON.stringify(titleOf(page))}`,
    `description: ${JSON.stringify(descriptionOf(page))}`,
    `head: ${JSON.stringify([...head, ...(page.head ?? [])])}`,
  ]
  const text = `---\n${frontMatter.join("\n")}\n---\n\n${textOf(rendered)}\n\n[This page as Markdown](${markdown})\n`
  write(join(content, `${page.route || "index"}.md`), text)
  write(join(published, markdown), withLinks(page, links, ".md"))
}
const isTaken = (file: string): boolean => pictures === true && /^docs\/page-.*\.png$/.test(file)
for (const file of links.copied) if (!isTaken(file)) cpSync(join(root, file), join(published, copyOf(file)))
if (pictures === true) {
  const command = [process.execPath, join(root, "scripts/screenshots.ts"), "5", join(published, "files/docs")]
  const { success } = Bun.spawnSync(command, { stdout: "inherit", stderr: "inherit" })
  if (!success) throw new Error("the pictures of the admin page were not taken")
}
await Bun.write(join(published, "why.js"), await bundle(join(site, "browser/why.ts"), "explain"))
cpSync(join(root, "console/icon.svg"), join(published, "favicon.svg"))
write(join(published, "openapi.json"), JSON.stringify(document, null, 2))
write(join(published, "llms.txt"), llmsText(start, pages))
write(join(site, "src/sidebar.json"), JSON.stringify(sidebar, null, 2))
console.log(`${pages.length} pages, ${links.copied.size} files`)
