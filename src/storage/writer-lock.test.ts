import { expect, test } from "bun:test"
import { mkdirSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { holderFileOf, logIn } from "./database-file.ts"
import { checkUnlocked, lockForWriting } from "./writer-lock.ts"

test("is released though the file that names the holder can't be deleted", () => {
  using folder = temporaryFolder()
  const location = logIn(join(folder.path, "log"))
  mkdirSync(dirname(location.file))
  const release = lockForWriting(location)
  expect(() => checkUnlocked(location)).toThrow("is being written to")
  const holderFile = holderFileOf(location.lockFile)
  rmSync(holderFile)
  // for a disk that fails: nothing without "recursive" deletes a folder
  mkdirSync(holderFile)
  release()
  checkUnlocked(location)
})
