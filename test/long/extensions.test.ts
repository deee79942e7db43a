import { Glob } from "bun"
import { expect, test } from "bun:test"
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { basename, join, relative } from "node:path"
import { runToEnd } from "../support/child.ts"
import { temporaryFolder } from "../support/hookline.ts"

// An extension is a folder, a line of the registry and, for some, a view of the page and its line: without these, everything else is
// as before. Tests in test/ that import an extension are its own.

const ROOT = join(import.meta.dir, "../..")
const LEFT_OUT = ["node_modules", ".git", "hookline-data", "dist"]
const NAMES = readdirSync(join(ROOT, "src/extensions"), { withFileTypes: true })
  .filter((it) => it.isDirectory())
  .map(({ name }) => name)

const SUITE_MS = 30 * 60_000

const IMPORT = /^import (?:type )?\{ ?([^}]*?),? ?\} from "(\.[^"]+)"\n/gm

/** The files that one imports, from the root of its checkout. */
const importsOf = (file: string, root: string): string[] =>
  [...readFileSync(file, "utf8").matchAll(IMPORT)].map(([, , from]) =>
    relative(root, join(file, "..", from!)),
  )

/** Removes the imports of a file that are gone, and what it lists of them. */
function strike(file: string, isGone: (path: string) => boolean, root: string): void {
  const text = readFileSync(file, "utf8")
  const struck: string[] = []
  let without = text.replaceAll(IMPORT, (line, names: string, from: string) => {
    if (!isGone(relative(root, join(file, "..", from)))) return line
    struck.push(...names.split(","))
    return ""
  })
  for (const name of struck) {
    without = without.replace(new RegExp(`\\b${name.trim()}\\b(?:,\\s*)?`), "")
    expect(without).not.toMatch(new RegExp(`\\b${name.trim()}\\b[^:"]`))
  }
  if (without !== text) writeFileSync(file, without)
}

test("there are extensions", () => {
  expect(NAMES).not.toEqual([])
})

test.each(NAMES)(
  "without %s the types fit, and the unit tests pass",
  async (name) => {
    using folder = temporaryFolder()
    const copy = join(folder.path, "hookline")
    cpSync(ROOT, copy, { recursive: true, filter: (from) => !LEFT_OUT.includes(basename(from)) })
    for (const packages of ["node_modules", "test/node_modules"])
      if (existsSync(join(ROOT, packages))) symlinkSync(join(ROOT, packages), join(copy, packages))

    const isOwn = (path: string): boolean =>
      path.startsWith(`src/extensions/${name}/`) || path.startsWith(`console/views/${name}/`)
    const lists = ["src/extensions/registry.ts", "console/views/overview/extensions.ts"]
    for (const list of lists) strike(join(copy, list), isOwn, copy)
    for (const folderOfIts of ["src/extensions", "console/views"])
      rmSync(join(copy, folderOfIts, name), { recursive: true, force: true })
    const tests = [...new Glob("test/**/*.ts").scanSync(copy)].filter((it) => !it.includes("node_modules/"))
    const ownTests = new Set(tests.filter((it) => importsOf(join(copy, it), copy).some(isOwn)))
    for (const it of ownTests) rmSync(join(copy, it))
    for (const it of tests) if (!ownTests.has(it)) strike(join(copy, it), (path) => ownTests.has(path), copy)

    const succeed = async (...command: readonly string[]): Promise<void> => {
      const { status, stdout, stderr } = await runToEnd(command, {
        cwd: copy,
        // the executable of this run is this checkout's
        env: { ...process.env, NO_COLOR: "1", HOOKLINE_TEST_PROGRAM: undefined },
      })
      // behind a bar: these are no results of this file's tests
      if (status !== 0)
        throw new Error(`${command.join(" ")}: ${status}\n${`${stdout}\n${stderr}`.replaceAll(/^/gm, "| ")}`)
    }
    await succeed("npm", "run", "docs")
    await succeed("npx", "tsc", "--noEmit")
    if (existsSync(join(ROOT, "test/node_modules"))) await succeed("npx", "tsc", "--noEmit", "-p", "test")
    await succeed("npm", "run", "test:unit")
    // it compiles everything and runs a suite
  },
  SUITE_MS,
)
