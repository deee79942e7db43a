/**
 * Compiles what is published: `dist/` with modules, types and source maps, by tsc; the admin page; the SDKs of build-sdks.ts;
 * `hookline/verify`, for all runtimes; and what other resolvers than Bun's load of the rest, which says where Bun is missing
 * that it is needed.
 *
 * Run it with `npm run build`; `npm pack` does.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { buildSdks } from "./build-sdks.ts"
import { buildVerify } from "./build-verify.ts"
import { builtPageModule } from "./built-page.ts"

const root = join(import.meta.dir, "..")
const dist = join(root, "dist")

// the binary and releases are other scripts'
const built = existsSync(dist)
  ? readdirSync(dist).filter((name) => !["hookline", "release"].includes(name))
  : []
for (const name of built) rmSync(join(dist, name), { recursive: true })
const { exitCode } = Bun.spawnSync([join(root, "node_modules/.bin/tsc"), "-p", "tsconfig.build.json"], {
  cwd: root,
  stdio: ["ignore", "inherit", "inherit"],
})
if (exitCode !== 0) process.exit(exitCode)

// tsc leaves the endings of imports in declarations as they are
for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
  if (!name.endsWith(".d.ts")) continue
  const file = join(dist, name)
  const text = readFileSync(file, "utf8")
  writeFileSync(file, text.replace(/((?:from|import\()\s*"\.[^"]*)\.ts"/g, '$1.js"'))
}

await buildSdks(dist)
await buildVerify(join(dist, "verify/anywhere"))

// with its source map, which is that of what bundles it
rmSync(join(dist, "admin/built-page.js.map"))
writeFileSync(join(dist, "admin/built-page.js"), await builtPageModule())

// Resolvers other than Bun's choose it (Node's, vitest's, a bundler's), whatever the program then runs on. Node links a module's
// names before it runs the first line, so that they have to be there for the message to be read
const names = Object.keys((await import(join(dist, "index.js"))) as object)
writeFileSync(
  join(dist, "needs-bun.js"),
  `if (globalThis.Bun === undefined)
  throw Object.assign(new Error("hookline runs on Bun, not on Node.js: start the program with bun, see https://bun.com"), { stack: "" })
export const { ${names.join(", ")} } = await import("./index.js")
`,
)
