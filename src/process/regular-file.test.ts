import { expect, test } from "bun:test"
import { createServer } from "node:net"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { inSlices } from "../clock/slices.ts"
import { whyUnreadable } from "./paths.ts"
import { answering, readRegularFile } from "./regular-file.ts"

const why = (path: string): string => {
  try {
    return readRegularFile(path).toString()
  } catch (error) {
    return whyUnreadable(error)
  }
}

test("regular files are read, and what may keep its reader for ever is refused at once", async () => {
  using folder = temporaryFolder()
  const at = (name: string): string => join(folder.path, name)
  writeFileSync(at("file"), "text")
  symlinkSync("file", at("link"))
  mkdirSync(at("folder"))
  expect(Bun.spawnSync(["mkfifo", at("fifo")]).exitCode).toBe(0)
  symlinkSync("fifo", at("to-fifo"))
  const socket = createServer().listen(at("socket"))
  await new Promise((listening) => socket.once("listening", listening))
  expect(
    [
      at("file"),
      at("link"),
      at("folder"),
      at("fifo"),
      at("to-fifo"),
      at("socket"),
      "/dev/zero",
      "/dev/full",
      "/dev/tty",
      at("none"),
    ].map(why),
  ).toEqual([
    "text",
    "text",
    "is a folder",
    "is a pipe, not a regular file",
    "is a pipe, not a regular file",
    "is a socket, not a regular file",
    "is a device, not a regular file",
    "is a device, not a regular file",
    "is a device, not a regular file",
    "does not exist",
  ])
  // none of these keeps whoever waits, either
  await inSlices(answering(["file", "folder", "fifo", "socket", "none"].map(at).concat("/dev/zero")))
  socket.close()
})
