import { readFileSync } from "node:fs"
import { join } from "node:path"
import { findFamily } from "../../src/verify/presets/providers.ts"
import { PRESETS } from "../../src/verify/presets/presets.ts"
import type { Page } from "./page.ts"

/** Verified on servers only: by key pairs, certificates or JSON Web Tokens. */
const NOT_IN_BROWSERS = /^(jwt|ed25519|ecdsa|rsa|aws-sns|paypal)/

/** Whether the box explains requests of a sender. */
export const isInBox = (name: string): boolean => !NOT_IN_BROWSERS.test(findFamily(name)!.family)

/** The page with the box for a request. Its policy lets it ask its own site alone, which is what the search does. */
export function whyPage(site: string): Page {
  const senders = Object.entries(PRESETS)
    .filter(([name]) => isInBox(name))
    .map(([name, { title }]) => `<option value="${name}">${title}</option>`)
  const markdown = readFileSync(join(site, "pages/why.md"), "utf8")
  const content = "connect-src 'self'; form-action 'none'"
  return {
    route: "why",
    // its links start from docs
    file: "docs/why.md",
    markdown: markdown.replace("<!-- senders -->", senders.join("")),
    head: [{ tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content } }],
  }
}
