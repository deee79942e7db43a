import { expect, test } from "bun:test"
import { join } from "node:path"
import { folderOfTests } from "../../test/support/hookline.ts"
import { missingPackage } from "./missing-package.ts"

const folder = folderOfTests()
const root = join(import.meta.dir, "../..")

/** The error of a module that imports another. */
async function failureOf(specifier: string, load: (file: string) => Promise<unknown>): Promise<unknown> {
  const file = join(folder.make(Bun.randomUUIDv7()), "module.ts")
  await Bun.write(file, `export * from "${specifier}"\n`)
  return load(file).then(
    () => undefined,
    (error: unknown) => error,
  )
}
const bundle = (file: string): Promise<unknown> => Bun.build({ entrypoints: [file] })
const run = (file: string): Promise<unknown> => import(file)

test.each([
  ["an import", run],
  ["a bundle", bundle],
])("%s of a package that is not installed is answered by what to do", async (_, load) => {
  const error = await failureOf("@none/such-package", load)
  expect(missingPackage(error)).toMatch(
    /^[^\n]*@none\/such-package.*[^.]\. Run 'npm install' in .* \(delete its node_modules before, if another tool made it\) \(package_missing\)\.$/,
  )
  expect(missingPackage(error)).toContain(`in ${root} (`)
})

test.each([
  ["an import", run],
  ["a bundle", bundle],
])("%s of a module of Hookline's own that is not there is a fault", async (_, load) => {
  const error = await failureOf("./such-module.ts", load)
  expect(error).toBeInstanceOf(Error)
  expect(missingPackage(error)).toBeUndefined()
})

test.each([
  new Error("no such package"),
  new SyntaxError("Export named 'a' not found in module '/a.ts'"),
  "text",
])("%p is another error", (error) => {
  expect(missingPackage(error)).toBeUndefined()
})
