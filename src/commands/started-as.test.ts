import { expect, test } from "bun:test"
import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { startedAs } from "./started-as.ts"

test("a command is named as it was typed", () => {
  using folder = temporaryFolder()
  const installed = join(folder.path, "hookline")
  writeFileSync(installed, "")
  chmodSync(installed, 0o755)
  const as = (typed: string | undefined, more = {}): string =>
    startedAs({ HOOKLINE_STARTED_AS: typed, PATH: folder.path, ...more })
  expect(as("bin/hookline")).toBe("bin/hookline")
  expect(as("/opt/my hookline/it's/hookline")).toBe("'/opt/my hookline/it'\\''s/hookline'")
  expect(as(installed)).toBe("hookline")
  expect(as(installed, { PATH: "/nowhere" })).toBe(installed)
  expect(as("/cache/.bin/hookline", { npm_command: "exec" })).toBe("npx hookline")
})
