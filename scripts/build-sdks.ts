/**
 * Bundles the SDKs that few installations use, so that none has their packages: each module of src/ whose name ends with
 * `-sdk.ts` re-exports what Hookline uses of one, and is loaded where it is needed. Their packages are development
 * dependencies; a checkout imports them, dist/ and the executable have them.
 */
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const source = join(import.meta.dir, "../src")

/** Paths of the modules in src/. */
export const SDK_MODULES: readonly string[] = [...new Bun.Glob("**/*-sdk.ts").scanSync(source)].toSorted()

/** Puts the bundles in the place of the modules that tsc has compiled. */
export async function buildSdks(dist: string): Promise<void> {
  for (const module of SDK_MODULES) {
    const { text } = await bundleSdk(module)
    const compiled = join(dist, module.replace(/\.ts$/, ""))
    writeFileSync(`${compiled}.js`, text)
    // the map is that of what it replaces, and the types name packages that are not installed
    for (const ending of [".js.map", ".d.ts"]) rmSync(`${compiled}${ending}`)
  }
}

/** Bundles one of SDK_MODULES. @returns the bundle, and the files that are in it */
export async function bundleSdk(module: string): Promise<{ text: string; files: string[] }> {
  const { outputs, metafile } = await Bun.build({
    entrypoints: [join(source, module)],
    target: "bun",
    format: "esm",
    minify: { whitespace: true, syntax: true },
    metafile: true,
  })
  return { text: await outputs[0]!.text(), files: Object.keys(metafile!.inputs) }
}
