import { appendFileSync, existsSync } from "node:fs"
import { join, relative } from "node:path"
import type { Cost } from "./costs.ts"

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

/** What the summary of a run is made from: each line of the file that HOOKLINE_TEST_NOTES names. */
export type Note = Skip | UseOfKafka | FileCost

/** What a file has cost, under `note-costs.ts`. */
export interface FileCost extends Cost {
  readonly file: string
}

/** A file whose tests have a real Kafka. */
export interface UseOfKafka {
  readonly file: string
  readonly usesKafka: true
}

/** Why tests of a file are skipped. */
export interface Skip {
  readonly file: string
  readonly reason: string
  /** Debian's packages with which they run; empty where none helps. */
  readonly packages: readonly string[]
  /** Another command with which they run. */
  readonly command?: string
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

/** Whether test/ has its own packages, as providers' libraries and Playwright; if not, as `hasTools`. */
export const hasTestPackages = (): boolean =>
  existsSync(join(import.meta.dir, "../node_modules/.package-lock.json")) ||
  lacks("no packages of test/", [], "npm --prefix test install")

/** Whether the programs are installed, this is root, and a command that does as the tests will succeeds. */
export function isPermitted(programs: readonly string[], attempt: readonly string[]): boolean {
  if (!hasTools(...programs)) return false
  if (process.getuid?.() !== 0) return skipsFor("not root")
  if (Bun.spawnSync([...attempt], { stderr: "ignore" }).success) return true
  return skipsFor(`${attempt[0]} is not permitted`)
}

/** Records that tests of this file are skipped for want of something that can be installed; with CI set that is an error. */
export function lacks(reason: string, packages: readonly string[] = [], command?: string): false {
  if (process.env.CI) throw new Error(`with CI set no test may be skipped, but: ${reason}`)
  return record(reason, packages, command)
}

/** As `lacks`, where this machine or user does not permit what the tests do: nothing could be installed, so CI skips too. */
export const skipsFor = (reason: string): false => record(reason, [])

/** Records that tests of this file have a real Kafka. */
export function usesKafka(): void {
  note({ file: thisFile(), usesKafka: true })
}

function record(reason: string, packages: readonly string[], command?: string): false {
  const file = thisFile()
  const isNew = note({ file, reason, packages, ...(command !== undefined && { command }) })
  if (isNew && process.env.HOOKLINE_TEST_NOTES === undefined)
    process.stderr.write(
      `skipping tests of ${file}: ${reason}${command === undefined ? "" : `; \`${command}\` brings them`}\n`,
    )
  return false
}

/** The test file that runs, from the root of the checkout. */
export const thisFile = (): string => relative(process.cwd(), Bun.main)
const noted = new Set<string>()

/** For the summary of the run. @returns whether this process had not noted it before */
export function note(it: Note): boolean {
  const line = `${JSON.stringify(it)}\n`
  if (noted.has(line)) return false
  noted.add(line)
  const notes = process.env.HOOKLINE_TEST_NOTES
  if (notes !== undefined) appendFileSync(notes, line)
  return true
}
