import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { isBuiltin } from "node:module"
import { join } from "node:path"
import manifest from "../package.json" with { type: "json" }
import { bundleSdk, SDK_MODULES } from "./build-sdks.ts"

const src = join(import.meta.dir, "../src")
const importsOf = (text: string, loader: "js" | "ts"): string[] =>
  new Bun.Transpiler({ loader }).scanImports(text).map(({ path }) => path)

test.each(SDK_MODULES)("the bundle of %s needs no package", async (module) => {
  const { text } = await bundleSdk(module)
  // a bundle of CommonJS modules has calls in place of imports
  const calls = [...text.matchAll(/\b__require\("([^"]+)"\)/g)].map(([, path]) => path!)
  const imports = [...importsOf(text, "js"), ...calls]
  expect(imports.length).toBeGreaterThan(0)
  expect(imports.filter((it) => !isBuiltin(it))).toEqual([])
  // nor the folder that it was built in
  expect(text).not.toContain(src)
})

test("no other module of src imports what users do not have", () => {
  const { dependencies, optionalDependencies } = manifest
  const isInstalled = (it: string): boolean =>
    Object.keys({ ...dependencies, ...optionalDependencies }).some(
      (name) => it === name || it.startsWith(`${name}/`),
    )
  const wrong: string[] = []
  for (const module of new Bun.Glob("**/*.ts").scanSync(src)) {
    if (module.endsWith(".test.ts") || SDK_MODULES.includes(module)) continue
    for (const it of importsOf(readFileSync(join(src, module), "utf8"), "ts"))
      if (!it.startsWith(".") && !isBuiltin(it) && it !== "bun" && !isInstalled(it))
        wrong.push(`${module}: ${it}`)
  }
  expect(wrong).toEqual([])
})
