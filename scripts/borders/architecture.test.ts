import { expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { LAYERS } from "./table.ts"

const ROOT = join(import.meta.dir, "../..")
const page = readFileSync(join(ROOT, "docs/architecture.md"), "utf8")
const blocks = [...page.matchAll(/^```text\n([^]*?)^```$/gm)].map(([, text]) => text!)

test("the layers in docs/architecture.md are those of the table", () => {
  const named = LAYERS.map((rooms) => rooms.map((room) => room.replace(/^src\/|\.ts$/g, "")).join(", "))
  expect(blocks.at(-1)!.trim().split("\n")).toEqual(named)
})

test("what docs/architecture.md names in src is there", () => {
  const [picture] = blocks
  const drawn = picture!.match(/\b[a-z-]+\/[a-z-]*/g) ?? []
  const written = [...page.matchAll(/`([a-z-]+\/[a-z/.-]*)`/g)].map(([, path]) => path!)
  expect(drawn.length).toBeGreaterThan(20)
  expect(written.length).toBeGreaterThan(20)
  const isThere = (path: string): boolean =>
    ["src", "."].some((folder) => [path, `${path}.ts`].some((it) => existsSync(join(ROOT, folder, it))))
  expect([...drawn, ...written].filter((path) => !isThere(path))).toEqual([])
})
