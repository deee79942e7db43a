import { expect, test } from "bun:test"
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { runToEnd } from "../support/child.ts"
import { temporaryFolder } from "../support/hookline.ts"

// An extension is a folder and a line of the registry: without both, everything else is as before.

const ROOT = join(import.meta.dir, "../..")
const LEFT_OUT = ["node_modules", ".git", "hookline-data", "dist"]
const NAMES = readdirSync(join(ROOT, "src/extensions"), { withFileTypes: true })
  .filter((it) => it.isDirectory())
  .map(({ name }) => name)

test("there are extensions", () => {
  expect(NAMES).not.toEqual([])
})

test.each(NAMES)("without %s the types fit, and the unit tests pass", async (name) => {
  using folder = temporaryFolder()
  const copy = join(folder.path, "hookline")
  cpSync(ROOT, copy, { recursive: true, filter: (from) => !LEFT_OUT.includes(basename(from)) })
  for (const packages of ["node_modules", "test/node_modules"])
    if (existsSync(join(ROOT, packages))) symlinkSync(join(ROOT, packages), join(copy, packages))

  rmSync(join(copy, "src/extensions", name), { recursive: true })
  const registry = join(copy, "src/extensions/registry.ts")
  const text = readFileSync(registry, "utf8")
  const [, imported] = new RegExp(`^import \\{ (\\w+) \\} from "\\./${name}/.*\\n`, "m").exec(text)!
  const without = text
    .replace(new RegExp(`^import .*"\\./${name}/.*\\n`, "m"), "")
    .replace(new RegExp(`\\b${imported}\\b(?:, )?`), "")
  expect(without).not.toContain(imported!)
  writeFileSync(registry, without)

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
})
