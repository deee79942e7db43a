import { expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { positionFile, Positions } from "./positions.ts"

test("a position whose file was removed under it is not saved, and says so", () => {
  using folder = temporaryFolder()
  const location = positionFile(join(folder.path, "state"), "forward", "a")
  const store = Positions.advance<{ from: string }>(location)
  const position = { next: new Map([[0, 5]]), replayed: 0, failed: 0 }
  store.begin({ from: "x" }, position)
  rmSync(location.file)
  expect(() => store.save(position)).toThrow(/a\.sqlite was removed or renamed while Hookline had it open/)
  store.close()
})
