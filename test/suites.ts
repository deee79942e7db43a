/**
 * Which tests CI runs only where a change may have broken them: `.ci/run` asks this file, which prints the files of tests
 * that are left out, one a line, and on standard error why. What is in no suite here always runs.
 */
import { Glob } from "bun"
import { basename, join } from "node:path"

const ROOT = join(import.meta.dir, "..")

/** Tests that run where a path of theirs, or one of the files themselves, has changed. */
export interface Suite {
  readonly name: string
  /** Their files. */
  readonly tests: readonly string[]
  /** Files, and folders that end in a slash. */
  readonly paths: readonly string[]
}

/** A change of one of them, or of a lockfile, runs everything: all of Hookline, or all tests, stand on it. */
export const EVERYTHING: readonly string[] = [
  "src/runtime/",
  "src/storage/",
  "src/pipeline/",
  "src/telemetry/",
  "src/process/",
  "src/clock/",
  "src/errors.ts",
  "src/headers.ts",
  "src/message.ts",
  "src/words.ts",
  "bin/",
  "test/support/",
  "test/run.ts",
  "test/suites.ts",
  "test/faults/run.ts",
  "test/brokers/run.ts",
  ".ci/",
  ".npmrc",
  "package.json",
  "tsconfig.json",
]
const isLockfile = (file: string): boolean => basename(file) === "package-lock.json"

/** What `check` and `run` make of a file of configuration. */
const CONFIGURATION = ["src/config/", "src/components/"]
/** What events for Kafka pass through after the source, and what reads them. */
const TO_KAFKA = [
  "src/brokers/",
  "src/kafka-listener/",
  "src/kafka-protocol/",
  ...CONFIGURATION,
  "src/dedupe/",
  "src/replay/",
  "src/extensions/",
  "src/outgoing/",
  "src/admin/",
  "src/commands/",
]
/** Kafka scenarios that are as much the HTTP server's: load, a kill and a drain while requests are answered. They always run. */
const ALSO_OF_HTTP = ["broker", "hookline-killed", "overload", "rolling-restart"].map(
  (name) => `test/faults/kafka-${name}.test.ts`,
)

export const SUITES: readonly Suite[] = [
  {
    name: "chart",
    tests: ["test/long/deploy-chart.test.ts"],
    paths: [
      "deploy/",
      ...CONFIGURATION,
      "src/commands/",
      "src/admin/",
      "docs/deploying.md",
      "docs/instances.md",
    ],
  },
  {
    name: "compose",
    tests: ["test/long/deploy-compose.test.ts"],
    paths: ["deploy/", ...CONFIGURATION, "src/commands/", "src/brokers/", "docs/deploying.md"],
  },
  {
    name: "machine",
    tests: ["test/long/deploy-machine.test.ts"],
    paths: [
      "deploy/",
      "scripts/",
      ...CONFIGURATION,
      "src/commands/",
      "docs/deploying.md",
      "docs/installing.md",
      "docs/hookline.1",
      "LICENSE",
    ],
  },
  {
    name: "release",
    tests: ["test/long/release.test.ts"],
    paths: [
      "deploy/",
      "scripts/",
      "supply-chain/",
      "console/",
      "src/commands/",
      "docs/releasing.md",
      "docs/installing.md",
      "docs/deploying.md",
      "docs/hookline.1",
      "examples/components/",
      "LICENSE",
    ],
  },
  {
    name: "site",
    tests: ["test/long/site.test.ts"],
    paths: [
      "site/",
      "docs/",
      "console/",
      "examples/",
      "scripts/",
      "src/admin/",
      "src/verify/",
      "src/addresses/",
      "src/index.ts",
      "README.md",
      "CHANGELOG.md",
      "CONTRIBUTING.md",
      "SECURITY.md",
    ],
  },
  {
    name: "completion",
    tests: ["test/long/completion.test.ts"],
    paths: ["src/commands/", "src/cli.ts", ...CONFIGURATION, "src/brokers/", "src/verify/presets/"],
  },
  {
    name: "JSON Schema",
    tests: ["test/long/json-schema-suite.test.ts"],
    paths: ["src/json/"],
  },
  {
    name: "Kafka's clients",
    tests: ["test/long/embedded-kafka-*.test.ts"],
    paths: ["src/kafka-listener/", "src/kafka-protocol/", "src/brokers/", ...CONFIGURATION, "test/clients/"],
  },
  {
    name: "Kafka",
    tests: ["test/long/kafka-*.test.ts"],
    paths: TO_KAFKA,
  },
  {
    name: "Kafka's releases",
    tests: ["test/brokers/kafka-versions.test.ts"],
    paths: TO_KAFKA,
  },
  {
    name: "Kafka's faults",
    tests: namesOf("test/faults/kafka-*.test.ts").filter((file) => !ALSO_OF_HTTP.includes(file)),
    paths: TO_KAFKA,
  },
]

/** What CI leaves out, and why. */
export interface Selection {
  readonly leftOut: readonly Suite[]
  readonly reason: string
}

/** @param changed the files of a change; undefined: that could not be found out. @param base what it is a change of */
export function select(changed: readonly string[] | undefined, base: string): Selection {
  if (changed === undefined)
    return { leftOut: [], reason: `all suites run: this clone does not have ${base}` }
  const all = changed.find((file) => isLockfile(file) || isIn(file, EVERYTHING))
  if (all !== undefined) return { leftOut: [], reason: `all suites run: ${all} differs from ${base}` }
  const leftOut = SUITES.filter(
    ({ tests, paths }) => !changed.some((file) => isIn(file, paths) || tests.some((it) => matches(it, file))),
  )
  return { leftOut, reason: `${changed.length} files differ from ${base}` }
}

/** The files that differ from a commit, also those that are not committed; undefined where git does not know it. */
export function changedSince(base: string, folder: string): string[] | undefined {
  const git = (...args: string[]): string[] | undefined => {
    const { success, stdout } = Bun.spawnSync(["git", ...args], { cwd: folder, stderr: "ignore" })
    return success ? stdout.toString().split("\0").filter(Boolean) : undefined
  }
  if (Bun.which("git") === null) return undefined
  // without --no-renames a file that was moved away is missing
  const tracked = git("diff", "--name-only", "--no-renames", "-z", base, "--")
  const others = git("ls-files", "--others", "--exclude-standard", "-z")
  return tracked && others && [...tracked, ...others]
}

export const isIn = (file: string, paths: readonly string[]): boolean =>
  paths.some((path) => (path.endsWith("/") ? file.startsWith(path) : file === path))

const matches = (pattern: string, file: string): boolean => new Glob(pattern).match(file)

function namesOf(pattern: string): string[] {
  return [...new Glob(pattern).scanSync(ROOT)].toSorted()
}

/** The files of a suite's tests. */
export const testsOf = ({ tests }: Suite): string[] => tests.flatMap(namesOf)

if (import.meta.main) {
  const base = process.env.HOOKLINE_CI_BASE || "HEAD^"
  const { leftOut, reason } = select(changedSince(base, ROOT), base)
  console.error(reason)
  for (const suite of leftOut)
    console.error(`left out: ${suite.name}: ${suite.paths.join(", ")} are as they were`)
  for (const file of leftOut.flatMap(testsOf)) console.log(file)
}
