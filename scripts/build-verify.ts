/**
 * Bundles `hookline/verify`, which runs without Bun and depends on nothing: from the modules that the service has, with
 * src/verify/anywhere/ in the place of what needs Bun or Node.
 */
import { existsSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { BunPlugin } from "bun"
import { PRESETS } from "../src/verify/presets/presets.ts"
import { PROVIDER_NAMES } from "../src/verify/presets/providers.ts"
import { camelCase } from "../src/message.ts"

const source = join(import.meta.dir, "../src/verify")
const anywhere = join(source, "anywhere")
const buffer = join(anywhere, "buffer.ts")

/** Modules of schemes that need node:crypto. */
const SERVER_ONLY = /\/(?:jwt|paypal|aws-sns|asymmetric|ms-graph-tokens)\.ts$/

const ENTRIES = ["verify", "hmac", "explain", "server"] as const
type Entry = (typeof ENTRIES)[number]

const replacing = (entry: Entry): BunPlugin => ({
  name: "anywhere",
  setup(build) {
    build.onResolve({ filter: /\/crypto\.ts$/ }, () => ({ path: join(anywhere, "crypto.ts") }))
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const from = entry === "server" ? "node:buffer" : buffer
      let text = (await Bun.file(path).text()).replace('"node:buffer"', `"${from}"`)
      if (/\bBuffer\b/.test(text) && path !== buffer) text = `import { Buffer } from "${from}"\n${text}`
      return { contents: text, loader: "ts" }
    })
    if (entry === "server") return
    build.onResolve({ filter: /\/network\.ts$/ }, () => ({ path: join(anywhere, "network.ts") }))
    build.onResolve({ filter: SERVER_ONLY }, () => ({ path: join(anywhere, "server-only.ts") }))
  },
})

/** @param folder of the modules, `dist/verify/anywhere`, which has their types by tsc */
export async function buildVerify(folder: string): Promise<void> {
  // the modules that are bundled
  if (existsSync(folder))
    for (const name of readdirSync(folder).filter((it) => !it.endsWith(".d.ts"))) rmSync(join(folder, name))
  for (const name of ENTRIES)
    await Bun.write(join(folder, `${name}.js`), await bundle(join(anywhere, `${name}.ts`), name))
  await Bun.write(
    join(folder, "senders.js"),
    senders("const", (form) => ` = ${JSON.stringify(form)}`),
  )
  const types = senders("declare const", () => ": HmacForm")
  await Bun.write(join(folder, "senders.d.ts"), `import type { HmacForm } from "./hmac.js"\n${types}`)
  const names = PROVIDER_NAMES.map((name) => `"${name}"`).join(" | ")
  await Bun.write(join(folder, "provider-name.d.ts"), `export type ProviderName = ${names}\n`)
}

/** Bundles a module that has what an entry has. */
export async function bundle(module: string, entry: Entry): Promise<Blob> {
  const { outputs } = await Bun.build({
    entrypoints: [module],
    target: entry === "server" ? "node" : "browser",
    format: "esm",
    minify: { whitespace: true, syntax: true },
    // browsers have no setImmediate
    ...(entry !== "server" && { define: { setImmediate: "setTimeout" } }),
    plugins: [replacing(entry)],
  })
  return outputs[0]!
}

/** A constant for each sender, so that a bundler leaves out the others. */
const senders = (declared: string, valueOf: (form: object) => string): string =>
  Object.entries(PRESETS)
    .flatMap(([id, { title, scheme }]) => {
      const name = camelCase(id.replaceAll("-", "_"))
      return "hmac" in scheme ? `/** ${title} */\nexport ${declared} ${name}${valueOf(scheme.hmac)}\n` : []
    })
    .join("")
