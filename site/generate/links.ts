import { existsSync, readFileSync, statSync } from "node:fs"
import { join, posix } from "node:path"
import type { Page } from "./page.ts"

/** Links of the repository's Markdown, as links of the site. */
export interface Links {
  /** Addresses of pages that are sections of a file in the repository: `docs/providers.md#stripe`. */
  readonly sections: ReadonlyMap<string, string>
  /** Routes by file. */
  readonly routes: ReadonlyMap<string, string>
  readonly root: string
  /** Files that pages link to and that are no pages: they are copied. */
  readonly copied: Set<string>
}

/** Where pages with examples and sources of the repository lead: as text, which every browser shows. */
export const copyOf = (file: string): string =>
  /\.(png|svg|json|1)$/.test(file) ? `files/${file}` : `files/${file}.txt`

/** The Markdown of a page with links of the site, to pages or, with `.md`, to their Markdown. */
export function withLinks(page: Page, links: Links, end: "/" | ".md"): string {
  let isFenced = false
  return page.markdown
    .split("\n")
    .map((line) => {
      if (line.startsWith("```")) isFenced = !isFenced
      if (isFenced) return line
      return line
        .replaceAll(/(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (_, image, text, target) => {
          // below
          if (image === "!" && end === "/") return `<img src="${target}" alt="${text}">`
          const href = hrefOf(target as string, page.file, links, end)
          return href === undefined ? (text as string) : `${image}[${text}](${href})`
        })
        .replaceAll(/(<(?:img src|source [^>]*srcset)=")([^"]+)"/g, (_, before, src) => {
          const href = hrefOf(src as string, page.file, links, end) ?? ""
          return `${before}${href}"${end === "/" ? sizeOf(src as string, page.file, links) : ""}`
        })
    })
    .join("\n")
}

/** Attributes of a picture, so that the text below it does not move when it is there; empty: not of a PNG. */
function sizeOf(target: string, from: string, { root }: Links): string {
  if (!target.endsWith(".png")) return ""
  const header = readFileSync(join(root, posix.dirname(from), target))
  return ` width="${header.readUInt32BE(16)}" height="${header.readUInt32BE(20)}"`
}

/** undefined: a folder of the repository, which the site does not have */
function hrefOf(target: string, from: string, links: Links, end: "/" | ".md"): string | undefined {
  if (/^([a-z]+:|\/)/.test(target)) return target
  const [path = "", fragment] = target.split("#")
  const file = path === "" ? from : posix.join(posix.dirname(from), path)
  const section = links.sections.get(`${file}#${fragment}`)
  const route = section ?? links.routes.get(file)
  if (route !== undefined) {
    const rest = section !== undefined || fragment === undefined ? "" : `#${fragment}`
    if (path === "" && rest !== "") return rest
    return `/${route === "" ? (end === "/" ? "" : "index.md") : `${route}${end}`}${rest}`
  }
  const absolute = join(links.root, file)
  if (!existsSync(absolute)) throw new Error(`${from}: a link leads to ${target}, which does not exist`)
  if (statSync(absolute).isDirectory()) return undefined
  links.copied.add(file)
  return `/${copyOf(file)}`
}
