import { appendFileSync } from "node:fs"
import { relative } from "node:path"

/** Debian's package of a program, where it is named otherwise. */
const PACKAGES: { readonly [program: string]: string } = {
  cc: "gcc libc6-dev",
  fsfreeze: "util-linux",
  go: "golang-go",
  groff: "groff-base",
  ip: "iproute2",
  java: "default-jdk-headless",
  javac: "default-jdk-headless",
  "mkfs.ext4": "e2fsprogs",
  mount: "mount",
  mvn: "maven",
  nginx: "nginx-light",
  prlimit: "util-linux",
  prometheus: "prometheus",
  promtool: "prometheus",
  "systemd-analyze": "systemd",
  "systemd-nspawn": "systemd-container",
  setpriv: "util-linux",
  unshare: "util-linux",
}

/** Why tests of a file are skipped; a line of the file that HOOKLINE_TEST_SKIPS names, which the summary is made from. */
export interface Skip {
  readonly file: string
  readonly reason: string
  /** Debian's packages with which they run; empty where none helps. */
  readonly packages: readonly string[]
}

/** Whether all these programs are installed; if not, that is recorded, and is an error with CI set. */
export function hasTools(...programs: readonly string[]): boolean {
  const missing = programs.filter((name) => Bun.which(name) === null)
  if (missing.length === 0) return true
  return lacks(
    missing.map((name) => `no ${name}`).join(", "),
    missing.flatMap((name) => (PACKAGES[name] ?? name).split(" ")),
  )
}

/** Whether the programs are installed, this is root, and a command that does as the tests will succeeds. */
export function isPermitted(programs: readonly string[], attempt: readonly string[]): boolean {
  if (!hasTools(...programs)) return false
  if (process.getuid?.() !== 0) return skipsFor("not root")
  if (Bun.spawnSync([...attempt], { stderr: "ignore" }).success) return true
  return skipsFor(`${attempt[0]} is not permitted`)
}

/** Records that tests of this file are skipped for want of something that can be installed; with CI set that is an error. */
export function lacks(reason: string, packages: readonly string[] = []): false {
  if (process.env.CI) throw new Error(`with CI set no test may be skipped, but: ${reason}`)
  return record(reason, packages)
}

/** As `lacks`, where this machine or user does not permit what the tests do: nothing could be installed, so CI skips too. */
export const skipsFor = (reason: string): false => record(reason, [])

const recorded = new Set<string>()

function record(reason: string, packages: readonly string[]): false {
  if (recorded.has(reason)) return false
  recorded.add(reason)
  const file = process.env.HOOKLINE_TEST_SKIPS
  const skip: Skip = { file: relative(process.cwd(), Bun.main), reason, packages }
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(skip)}\n`)
  else process.stderr.write(`skipping tests of ${skip.file}: ${reason}\n`)
  return false
}
