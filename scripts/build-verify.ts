/**
 * Bundles `hookline/verify`, which runs without Bun and depends on nothing, from the modules that the service has. Of a module
 * with a `.web` or `.browser` next to it, that one is bundled; src/verify/anywhere/tsconfig.json checks the types of the same modules.
 */
import { existsSync, readdirSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import type { BunPlugin } from "bun"
import { PRESETS } from "../src/verify/senders.ts"
import { PROVIDER_NAMES } from "../src/verify/verification.ts"
import { camelCase } from "../src/message.ts"

const anywhere = join(import.meta.dir, "../src/verify/anywhere")

const ENTRIES = ["verify", "hmac", "explain", "server"] as const
type Entry = (typeof ENTRIES)[number]

const replacing = (entry: Entry): BunPlugin => ({
  name: "anywhere",
  setup(build) {
    // servers have node:crypto and node:buffer
    const suffixes = entry === "server" ? [".web.ts"] : [".browser.ts", ".web.ts"]
    build.onResolve({ filter: /^\..*\.ts$/ }, ({ path, importer }) => {
      const others = suffixes.map((suffix) => join(dirname(importer), path.replace(/\.ts$/, suffix)))
      const other = others.find((it) => existsSync(it))
      return other === undefined ? undefined : { path: other }
    })
    if (entry !== "server")
      build.onResolve({ filter: /^node:buffer$/ }, () => ({ path: join(anywhere, "buffer.ts") }))
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
