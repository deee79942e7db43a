import { Glob } from "bun"
import { beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { createHmac } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { accessibilityFindings, hasBrowser, openPage, startBrowser } from "../support/browser.ts"
import { runToEnd } from "../support/child.ts"

// npm installs Astro.
setDefaultTimeout(600_000)

const root = join(import.meta.dir, "../..")
const site = join(root, "site")
const dist = join(site, "dist")
const SECRET = "obviously-fake-secret"

beforeAll(async () => {
  if (!existsSync(join(site, "node_modules")))
    await succeed(["npm", "--prefix", "site", "ci", "--no-audit", "--no-fund"])
  await succeed(["npm", "run", "site"])
})

async function succeed(command: readonly string[]): Promise<void> {
  const { status, stdout, stderr } = await runToEnd(command, { cwd: root })
  if (status !== 0) throw new Error(`${command.join(" ")} failed:\n${stdout}${stderr}`)
}

interface Built {
  readonly ids: ReadonlySet<string>
  /** Of links for people, and of what a browser fetches by itself. */
  readonly links: readonly string[]
  readonly fetched: readonly string[]
}

/** The built pages by address. */
async function builtPages(): Promise<Map<string, Built>> {
  const pages = new Map<string, Built>()
  for (const file of new Glob("**/*.html").scanSync(dist)) {
    const ids = new Set<string>()
    const [links, fetched]: [string[], string[]] = [[], []]
    const rewriter = new HTMLRewriter()
      .on("[id]", { element: (it) => void ids.add(it.getAttribute("id")!) })
      .on("a[href]", { element: (it) => void links.push(it.getAttribute("href")!) })
      .on("[src]", { element: (it) => void fetched.push(it.getAttribute("src")!) })
      .on("link[href]", { element: (it) => void fetched.push(it.getAttribute("href")!) })
    rewriter.transform(readFileSync(join(dist, file), "utf8"))
    pages.set(`/${file.replace(/index\.html$/, "")}`, { ids, links, fetched })
  }
  return pages
}

const isElsewhere = (href: string): boolean => /^([a-z]+:|\/\/)/.test(href) && !href.startsWith("data:")

test("every link leads to a page or file of the site, and its fragment to an element", async () => {
  const pages = await builtPages()
  expect(pages.size).toBeGreaterThan(60)
  const dead: string[] = []
  for (const [from, { links, fetched }] of pages) {
    for (const href of [...links, ...fetched]) {
      if (isElsewhere(href) || href.startsWith("data:")) continue
      const { pathname, hash } = new URL(href, `http://site${from}`)
      const page = pages.get(pathname)
      const isThere = page !== undefined || (!pathname.endsWith("/") && existsSync(join(dist, pathname)))
      const fragment = decodeURIComponent(hash.slice(1))
      if (!isThere || (fragment !== "" && page?.ids.has(fragment) !== true)) dead.push(`${from}: ${href}`)
    }
  }
  expect([...new Set(dead)]).toEqual([])
})

test("every page is there as Markdown, whose links lead to files of the site", async () => {
  const files = [...new Glob("**/*.md").scanSync(dist)]
  const pages = [...(await builtPages()).keys()].filter((it) => it.endsWith("/"))
  const markdown = pages.map((it) => (it === "/" ? "index.md" : `${it.slice(1, -1)}.md`))
  expect(files.toSorted()).toEqual(markdown.toSorted())
  const dead = files.flatMap((file) =>
    [...readFileSync(join(dist, file), "utf8").matchAll(/\]\((\/[^)#\s]*)/g)]
      .filter(([, path]) => !existsSync(join(dist, path!)))
      .map(([, path]) => `${file}: ${path}`),
  )
  expect(dead).toEqual([])
})

test("llms.txt names the Markdown of each page but the start", () => {
  const named = readFileSync(join(dist, "llms.txt"), "utf8").matchAll(/\]\(\/([^)]+)\)/g)
  const files = [...new Glob("**/*.md").scanSync(dist)].filter((it) => it !== "index.md")
  expect([...named].map(([, file]) => file!).toSorted()).toEqual(files.toSorted())
})

test("no page has anything fetched from another host", async () => {
  for (const [from, { fetched }] of await builtPages())
    expect([from, ...fetched.filter(isElsewhere)]).toEqual([from])
})

/** The built site, as a static file server has it. */
const serve = (): Bun.Server<undefined> =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch({ url }) {
      const { pathname } = new URL(url)
      const file = Bun.file(join(dist, pathname.endsWith("/") ? `${pathname}index.html` : pathname))
      return (await file.exists()) ? new Response(file) : new Response(null, { status: 404 })
    },
  })

test.skipIf(!hasBrowser())("the search finds a page, without a request to another host", async () => {
  using server = serve()
  await using browser = await startBrowser()
  const { page, faults } = await openPage(browser, server.url.href)
  await page.getByRole("button", { name: "Search" }).click()
  await page
    .getByRole("searchbox")
    .or(page.getByPlaceholder("Search"))
    .first()
    .fill("unclean leader election")
  await page.getByRole("link", { name: "Reliability" }).first().waitFor()
  expect(faults).toEqual([])
})

test.skipIf(!hasBrowser())(
  "the box explains a pasted request in the browser, which sends nothing",
  async () => {
    using server = serve()
    await using browser = await startBrowser()
    const { page, faults, requests } = await openPage(browser, `${server.url.href}why/`)
    await page.waitForLoadState("networkidle")
    const before = requests.length
    const signature = createHmac("sha256", SECRET).update('{"action":"opened"}').digest("hex")
    const head = `POST /github HTTP/1.1\nX-GitHub-Event: issues\nX-Hub-Signature-256: sha256=${signature}`
    const explained = async (body: string, secret: string): Promise<string> => {
      await page.getByLabel("The request").fill(`${head}\n\n${body}`)
      await page.getByLabel("The secret").fill(secret)
      await page.getByRole("status").evaluate((it) => it.replaceChildren())
      await page.getByRole("button", { name: "Explain" }).click()
      await page.getByRole("status").getByText("The request is").waitFor()
      return page.getByRole("status").innerText()
    }
    expect(await explained('{"action":"opened"}', SECRET)).toContain("The request is verified.")
    const changed = await explained('{ "action": "opened" }', SECRET)
    expect(changed).toContain("The body was parsed and serialised again")
    expect(changed).not.toContain(SECRET)
    expect(await explained('{"action":"opened"}', "another")).toContain(
      "The secret may belong to another endpoint",
    )
    expect(requests.slice(before).map((it) => it.url())).toEqual([])
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasBrowser())("pages can be read in both themes", async () => {
  using server = serve()
  await using browser = await startBrowser()
  for (const theme of ["light", "dark"] as const) {
    for (const path of ["", "logs/", "senders/stripe/", "why/"]) {
      const { page, faults } = await openPage(browser, `${server.url.href}${path}`, { theme })
      expect([theme, path, ...(await accessibilityFindings(page))]).toEqual([theme, path])
      expect(faults).toEqual([])
      await page.context().close()
    }
  }
})
