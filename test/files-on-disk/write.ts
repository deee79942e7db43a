import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { checkFiles, writeFiles, type Program } from "./files.ts"

/*
 * `npm run test:files DIR [ARCHIVE]`: whether this checkout opens the files that another one writes,
 * and the other way round; with ARCHIVE, keeps the other one's files in it, for test/e2e/files-on-disk.test.ts.
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
      await checkFiles({ ...files, program: programOf(reader) }, { withGroups: true })
      rmSync(files.folder, { recursive: true })
      console.log(`${signal}: the files of ${writer} were opened by ${reader}`)
    }
} finally {
  rmSync(folder, { recursive: true })
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
