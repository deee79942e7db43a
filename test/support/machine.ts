import { chmod, mkdir, symlink, writeFile } from "node:fs/promises"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { endingWithThisProcess, runToEnd } from "./child.ts"
import { isPermitted } from "./tools.ts"
import { HANG_MS } from "./hang.ts"

/** What the script of a machine is below it, and its output. */
const SCRIPT = "/root/script"
const OUTPUT = "/root/output"
const UNIT = "/etc/systemd/system/hookline-test.service"

const NSPAWN = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network"]

/** Whether `makeRoot` and `runBooted` can work here. */
export const canBoot = (): boolean =>
  isPermitted(
    ["mmdebstrap", "systemd-nspawn"],
    [...NSPAWN, "--volatile=yes", "--directory=/", "/usr/bin/true"],
  )

/** Makes the root file system of a Debian as this machine's, with packages: a folder, or an archive (`.tar`). */
export async function makeRoot(path: string, packages: readonly string[] = []): Promise<void> {
  const [, suite = ""] = /^VERSION_CODENAME=(.+)$/m.exec(readFileSync("/etc/os-release", "utf8")) ?? []
  const include = packages.length === 0 ? [] : [`--include=${packages.join(",")}`]
  const made = await runToEnd(["mmdebstrap", "--quiet", "--variant=minbase", ...include, suite, path])
  if (made.status !== 0) throw new Error(`mmdebstrap failed: ${made.stderr}`)
}

/**
 * Boots systemd in a root file system, with a network of its own, runs a script of bash as root once it has started, and
 * turns it off. Resolves with the status and output of the script, which ends at its first command that fails.
 */
export async function runBooted(root: string, script: string): Promise<{ status: number; output: string }> {
  await writeFile(join(root, SCRIPT), `#!/bin/bash\nset -eux -o pipefail\nexec > ${OUTPUT} 2>&1\n${script}\n`)
  await chmod(join(root, SCRIPT), 0o755)
  await writeFile(
    join(root, UNIT),
    `[Unit]
After=default.target
SuccessAction=exit-force
FailureAction=exit-force
SuccessActionExitStatus=0
FailureActionExitStatus=1
[Service]
Type=oneshot
ExecStart=${SCRIPT}
`,
  )
  const wanted = join(root, "/etc/systemd/system/default.target.wants/hookline-test.service")
  await mkdir(dirname(wanted), { recursive: true })
  await symlink(UNIT, wanted)
  // without a name of its own it has that of its folder
  const machine = `hookline-${crypto.randomUUID()}`
  const command = [...NSPAWN, "--boot", "--machine", machine, "--directory", root]
  const { status, stderr } = await runToEnd(endingWithThisProcess(...command), { timeout: HANG_MS })
  const output = join(root, OUTPUT)
  return { status, output: existsSync(output) ? readFileSync(output, "utf8") : `no boot: ${stderr}` }
}
