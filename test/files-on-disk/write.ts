import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { checkFiles, writeFiles, type Files, type Program } from "./files.ts"

/*
 * `npm run test:files DIR [ARCHIVE]`: whether this checkout opens the files that another one writes,
 * and the other way round, unless it says that a later version wrote them; with ARCHIVE, keeps the other one's files in it, for test/e2e/files-on-disk.test.ts.
 */
const [other, archive] = process.argv.slice(2)
if (other === undefined) throw new Error("expected the folder of another checkout")
const root = join(import.meta.dir, "..", "..")
const programOf = (checkout: string): Program => [process.execPath, join(checkout, "src/cli.ts")]
const folder = mkdtempSync(join(tmpdir(), "hookline-files-"))
try {
  for (const [writer, reader] of [
    [other, root],
    [root, other],
  ] as const)
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const files = { program: programOf(writer), folder: join(folder, signal) }
      await writeFiles(files, signal)
      if (writer === other && archive !== undefined) keep(files.folder, `${archive}-${signal}.tar.gz`)
      const read = { ...files, program: programOf(reader) }
      const isRefused = reader === other && isLater(read)
      if (!isRefused) await checkFiles(read, { withGroups: true })
      rmSync(files.folder, { recursive: true })
      console.log(`${signal}: the files of ${writer} were ${isRefused ? "refused" : "opened"} by ${reader}`)
    }
} finally {
  rmSync(folder, { recursive: true })
}

/** Whether a program refuses the log as one of a later version. */
function isLater({ program, folder }: Files): boolean {
  const { exitCode, stderr } = Bun.spawnSync([...program, "tail", "webhooks", "--connection", "log"], {
    cwd: folder,
  })
  return exitCode !== 0 && stderr.toString().includes("was written by a later version of Hookline")
}

function keep(from: string, to: string): void {
  const tar = [
    "tar",
    "--sparse",
    "--owner=0",
    "--group=0",
    "--exclude=*-shm",
    "--exclude=*.reserve",
    "-czf",
    to,
    "-C",
    from,
    ".",
  ]
  if (!Bun.spawnSync(tar, { stderr: "inherit" }).success) throw new Error(`could not write ${to}`)
}
