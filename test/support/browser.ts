import { fileURLToPath } from "node:url"
import type { AxeResults } from "axe-core"
import type { Browser, Page, Request } from "playwright-core"
import { HANG_MS } from "./hang.ts"
import { hasTestPackages, hasTools } from "./tools.ts"

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome"]
const program = PROGRAMS.map((name) => Bun.which(name)).find((it) => it !== null)

/** Whether `startBrowser` can work here; if not, as `hasTools`. */
export const hasBrowser = (): boolean =>
  hasTestPackages() && (program !== undefined || hasTools(PROGRAMS[0]!))

/** Starts Chromium without a window: `await using browser = await startBrowser()`. */
export async function startBrowser(...args: string[]): Promise<Browser> {
  const { chromium } = await import("playwright-core")
  return chromium.launch({ executablePath: program!, args, timeout: HANG_MS })
}

interface PageSettings {
  readonly theme?: "light" | "dark"
  readonly width?: number
  readonly height?: number
}

/** A page of its own, without cookies or storage of others. */
export interface OpenedPage {
  readonly page: Page
  /** Exceptions, errors on the console (what the CSP refused among them), and requests to elsewhere. */
  readonly faults: readonly string[]
  /** All that it asked for. */
  readonly requests: readonly Request[]
}

/** Opens the page at an admin address: `openPage(browser, running.adminUrl!, { theme: "dark" })`. */
export async function openPage(
  browser: Browser,
  url: string,
  { theme = "light", width = 1280, height = 800 }: PageSettings = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width, height },
    permissions: ["clipboard-read", "clipboard-write"],
  })
  context.setDefaultTimeout(HANG_MS)
  const page = await context.newPage()
  const faults: string[] = []
  const requests: Request[] = []
  const { origin } = new URL(url)
  page.on("pageerror", (error) => faults.push(String(error.stack ?? error)))
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()))
  page.on("request", (request) => {
    requests.push(request)
    if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith("data:"))
      faults.push(`request to ${request.url()}`)
  })
  await page.goto(url)
  return { page, faults, requests }
}

/** What axe-core finds on a page that is serious or critical, one line each: the rule, and where. */
export async function accessibilityFindings(page: Page): Promise<string[]> {
  await page.evaluate(await Bun.file(fileURLToPath(import.meta.resolve("axe-core/axe.min.js"))).text())
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run(),
  )
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(" ")} ${node.failureSummary}`))
}

/** Presses keys one after the other: `g`, `e`, `Enter`; `text:…` is typed. */
export async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    if (key.startsWith("text:")) await page.keyboard.type(key.slice("text:".length))
    else await page.keyboard.press(key)
  }
}
