import { expect, test } from "bun:test"
import { join } from "node:path"
import { checkFiles } from "../files-on-disk/files.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { hasKcat } from "../support/kcat.ts"
import { PROGRAM } from "../support/program.ts"

const root = join(import.meta.dir, "../..")

test.each(["SIGTERM", "SIGKILL"])(
  "the log, dedupe keys, consumer groups, spool and forward of version 0.1.0, ended by %s, are opened and continued",
  async (signal) => {
    using folder = temporaryFolder()
    const archive = join(root, "test/files-on-disk", `0.1.0-${signal}.tar.gz`)
    expect(Bun.spawnSync(["tar", "-xzf", archive, "-C", folder.path], { stderr: "inherit" }).success).toBe(
      true,
    )
    await checkFiles({ program: PROGRAM, folder: folder.path }, { withGroups: hasKcat() })
  },
)
