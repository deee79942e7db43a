import { expect, test } from "bun:test"
import { closeSync, constants, openSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { LineWriter } from "./line-writer.ts"

test("lines of every length are written whole and in order, more of them than fit at once", () => {
  using folder = temporaryFolder()
  const file = join(folder.path, "log")
  const writer = new LineWriter(openSync(file, "a"))
  const lines = Array.from({ length: 3000 }, (_, n) => `${n} ${"é".repeat((n * 37) % 5000)}\n`)
  for (const line of lines)
    if (!writer.write(line)) expect([writer.flush(), writer.write(line)]).toEqual([true, true])
  expect(writer.flush()).toBe(true)
  expect(readFileSync(file, "utf8")).toBe(lines.join(""))
})

/** A pipe with its reading end, as a process gets it or as one that another process has made non-blocking. */
function pipeIn(folder: string, flags = 0): { reader: number; writer: number } {
  const path = join(folder, "fifo")
  Bun.spawnSync(["mkfifo", path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return { reader, writer: openSync(path, constants.O_WRONLY | flags) }
}

test.each([
  ["that blocks", 0],
  ["that is non-blocking", constants.O_NONBLOCK],
])(
  "on a pipe %s and that nobody reads a megabyte waits and no more; reading it gets all of it",
  async (_, flags) => {
    using folder = temporaryFolder()
    const { reader, writer: fd } = pipeIn(folder.path, flags)
    const writer = new LineWriter(fd)
    let taken = 0
    while (writer.write(`${taken}\n`)) taken++
    expect(writer.flush()).toBe(false)
    // what the pipe itself holds has made room
    while (writer.write(`${taken}\n`)) taken++
    expect(writer.isHalfEmpty).toBe(false)
    const read = Bun.file(join(folder.path, "read"))
    const cat = Bun.spawn(["cat", join(folder.path, "fifo")], { stdout: read })
    expect(writer.flush()).toBe(true)
    for (const it of [fd, reader]) closeSync(it)
    await cat.exited
    expect(await read.text()).toBe(Array.from({ length: taken }, (_, n) => `${n}\n`).join(""))
  },
)

test("several processes that write to one pipe keep each other's lines whole", async () => {
  using folder = temporaryFolder()
  const { reader, writer: fd } = pipeIn(folder.path)
  const script = `import { LineWriter } from ${JSON.stringify(join(import.meta.dir, "line-writer.ts"))}
    const writer = new LineWriter(1)
    for (let n = 0; n < 2000; n++) while (!writer.write(process.argv[1].repeat(1 + n % 400) + "\\n")) writer.flush()`
  const children = ["a", "b", "c"].map((letter) =>
    Bun.spawn([process.execPath, "-e", script, letter], { stdout: fd }),
  )
  const cat = Bun.spawn(["cat", join(folder.path, "fifo")], { stdout: "pipe" })
  const text = new Response(cat.stdout).text()
  await Promise.all(children.map(({ exited }) => exited))
  closeSync(fd)
  const lines = (await text).trimEnd().split("\n")
  expect(lines).toHaveLength(6000)
  expect(lines.filter((line) => !/^(a+|b+|c+)$/.test(line))).toEqual([])
  closeSync(reader)
})

test("a descriptor that can't be written to fails nothing, and a flush does not wait for it", () => {
  const fd = openSync("/dev/full", "w")
  const writer = new LineWriter(fd)
  expect(writer.write("a line\n")).toBe(true)
  expect(writer.flush()).toBe(false)
})
