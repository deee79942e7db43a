import { expect, test } from "bun:test"
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { outputOf } from "../support/child.ts"
import { ROOT } from "../support/documents.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { hasTools } from "../support/tools.ts"
import { changedSince, EVERYTHING, isIn, select, SUITES, testsOf } from "../suites.ts"

/* What CI leaves out of a change. */

const NAMES = SUITES.map(({ name }) => name)
const leftOutOf = (...changed: string[]): string[] => select(changed, "main").leftOut.map(({ name }) => name)

test.each([
  ["src/runtime/reload.ts"],
  ["src/storage/recovery.ts"],
  ["src/pipeline/compose.ts"],
  ["test/support/kafka.ts"],
  ["package-lock.json"],
  ["site/package-lock.json"],
  [".ci/run"],
])("a change of %s runs everything", (file) => {
  expect(leftOutOf("docs/limits.md", file)).toEqual([])
})

test("a change of src/http alone leaves out every suite", () => {
  expect(leftOutOf("src/http/endpoint.ts", "src/http/endpoint.test.ts")).toEqual(NAMES)
})

test.each([
  [["chart", "compose", "machine", "release"], "deploy/Dockerfile"],
  [["site"], "docs/limits.md"],
  [["JSON Schema"], "src/json/schema.ts"],
  [["completion"], "src/cli.ts"],
  [["chart"], "test/long/deploy-chart.test.ts"],
  [["Kafka's faults"], "test/faults/kafka-slow.test.ts"],
  [["Kafka's clients"], "test/clients/kafkajs.ts"],
])("%j run for a change of %s", (run, file) => {
  expect(leftOutOf(file)).toEqual(NAMES.filter((name) => !run.includes(name)))
})

test("a change of a broker's client runs what publishes to Kafka and reads from it", () => {
  const left = leftOutOf("src/brokers/kafka/partition.ts")
  for (const name of NAMES.filter((it) => it.startsWith("Kafka"))) expect(left).not.toContain(name)
})

test("everything runs where the base is not in the clone", () => {
  const { leftOut, reason } = select(undefined, "HEAD^")
  expect([leftOut, reason]).toEqual([[], "all suites run: this clone does not have HEAD^"])
})

/** A file that a test imports from outside of test/, or names. */
const NAMED = /^(?:import|\} from) .*?"\.\.\/\.\.\/([^"]+)"|"((?:docs|deploy|examples)\/[\w./-]+\.\w+)"/gm

test.each(SUITES)("$name: its files and paths exist, and have all that its tests name", (suite) => {
  const files = testsOf(suite)
  expect(files).not.toEqual([])
  const covered = [...suite.paths, ...EVERYTHING]
  const exists = (path: string): boolean => existsSync(join(ROOT, path))
  expect(suite.paths.filter((path) => !exists(path))).toEqual([])
  const named = files.flatMap((file) =>
    [...readFileSync(join(ROOT, file), "utf8").matchAll(NAMED)].map(([, path, other]) => path ?? other!),
  )
  expect([...new Set(named)].filter((path) => exists(path) && !isIn(path, covered))).toEqual([])
})

test("CONTRIBUTING.md says of each suite that it runs by path", () => {
  const rows = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8").matchAll(
    /^\| ([^|]+?) +\|.*\| by path +\|/gm,
  )
  expect([...rows].map(([, name]) => name).toSorted()).toEqual(NAMES.toSorted())
})

test.skipIf(!hasTools("git"))(
  "the files of a change are those of its commits, those not committed, and both names of one that was moved",
  async () => {
    using folder = temporaryFolder()
    const here = folder.make("here")
    const git = (...args: string[]): Promise<string> =>
      outputOf(["git", "-c", "user.name=test", "-c", "user.email=test@example.com", ...args], { cwd: here })
    const commit = async (): Promise<void> => {
      await git("add", "--all")
      await git("commit", "--quiet", "--message", "one")
    }
    await git("init", "--quiet")
    for (const name of ["kept", "changed", "moved", "later"]) writeFileSync(join(here, name), `${name}\n`)
    await commit()
    writeFileSync(join(here, "changed"), "other\n")
    renameSync(join(here, "moved"), join(here, "über"))
    await commit()
    writeFileSync(join(here, "later"), "other\n")
    writeFileSync(join(here, "untracked"), "")
    expect(changedSince("HEAD^", here)?.toSorted()).toEqual([
      "changed",
      "later",
      "moved",
      "untracked",
      "über",
    ])

    await git("clone", "--quiet", "--depth", "1", `file://${here}`, "shallow")
    expect(changedSince("HEAD^", join(here, "shallow"))).toBeUndefined()
    expect(changedSince("HEAD", join(here, "shallow"))).toEqual([])
  },
)
