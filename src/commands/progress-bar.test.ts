import { expect, test } from "bun:test"
import { join } from "node:path"

const MODULE = JSON.stringify(join(import.meta.dir, "progress-bar.ts"))

/** The lines that a program leaves on a terminal, as one draws over another. */
async function linesOf(program: string, cols: number): Promise<{ lines: string[]; printed: string }> {
  const ended = Promise.withResolvers<void>()
  let printed = ""
  const child = Bun.spawn(
    [process.execPath, "-e", `const { startProgressBar } = await import(${MODULE})\n${program}`],
    {
      terminal: {
        cols,
        data: (_, bytes) => void (printed += Buffer.from(bytes).toString()),
        exit: () => ended.resolve(),
      },
    },
  )
  expect(await child.exited).toBe(0)
  child.terminal!.close()
  await ended.promise
  const lines = printed.split("\r\n").map((it) => Bun.stripANSI(it.slice(it.lastIndexOf("\r") + 1)))
  return { lines, printed }
}

test("a bar is drawn on one line, which ends before what is printed next", async () => {
  const { lines, printed } = await linesOf(
    `const bar = startProgressBar(4)
    bar.increment()
    await Bun.sleep(150)
    bar.increment(2)
    bar.stop()
    bar.stop()
    console.error("done")`,
    100,
  )
  expect(printed).toMatch(/^\r░{40} 0% \| 0 of 4 \| \d+ s, - to go/)
  expect(lines).toEqual([
    expect.stringMatching(/^█{30}░{10} 75% \| 3 of 4 \| \d+ s, \d+ s to go$/),
    "done",
    "",
  ])
})

test("a line that is left by a throw ends as well, and one never wraps", async () => {
  const { lines } = await linesOf(
    `try {
      using bar = startProgressBar(10, (value) => "text of " + value)
      bar.update(5)
      throw new Error("no space left")
    } catch (error) { console.error(error.message) }`,
    30,
  )
  expect(lines).toEqual(["███████░░░░░░ 50% | text of 5", "no space left", ""])
})

test("a terminal too narrow for a bar has the text that it has room for", async () => {
  const { lines } = await linesOf("startProgressBar(0, () => 'all of it').stop()", 12)
  expect(lines).toEqual([" 100% | all", ""])
})
