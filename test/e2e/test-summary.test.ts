import { expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "../support/hookline.ts"
import { dearest, inAll, ofKafka, ofSkips, overBudget } from "../support/run-summary.ts"
import { TestOutput } from "../support/test-output.ts"

/* The last lines of `npm test`, from what bun prints and tests note. */

const OUTPUT = `
test/e2e/kafka-pipeline.test.ts:
(pass) an event is published [12.30ms]
(pass) another one
(skip) a third one
src/json/splice.test.ts:
(pass) splices [0.10ms]
`
const output = new TestOutput()
for (const line of OUTPUT.split("\n")) output.take(line)
const skip = (reason: string, ...packages: string[]) => ({ file: "test/e2e/a.test.ts", reason, packages })

test("passed and skipped tests are counted by file", () => {
  expect(output.passed).toBe(3)
  expect(output.skipped).toEqual(new Map([["test/e2e/kafka-pipeline.test.ts", 1]]))
})

test.each([
  [
    "tests with a Kafka",
    ["test/e2e/kafka-pipeline.test.ts"],
    [],
    /^real Kafka .+: 2 tests passed in the file that uses it\n$/,
  ],
  [
    "none without Java",
    [],
    [skip("no java, no mvn", "default-jdk-headless", "maven")],
    /^real Kafka: not tried: no java, no mvn; `apt-get install default-jdk-headless maven` brings it\n$/,
  ],
  [
    "none that Maven could fetch",
    [],
    [skip("Maven could not fetch Kafka 4.1.0: offline")],
    /^real Kafka: not tried: Maven could not fetch Kafka 4.1.0: offline\n$/,
  ],
  ["no test that needs one", [], [skip("no nginx", "nginx-light")], /^$/],
] as const)("%s", (_, files, skips, line) => {
  expect(ofKafka(output.passedIn, new Set(files), skips)).toMatch(line)
})

test("skipped tests are told with the commands that bring what they lack", () => {
  const skipped = new Map([
    ["test/e2e/a.test.ts", 3],
    ["test/e2e/b.test.ts", 2],
  ])
  const packages = {
    file: "test/e2e/b.test.ts",
    reason: "no packages of test/",
    packages: [],
    command: "npm --prefix test install",
  }
  expect(ofSkips(skipped, [skip("no nginx", "nginx-light"), packages])).toBe(
    "5 skipped: no nginx (3); no packages of test/ (2); `npm --prefix test install`, `apt-get install nginx-light` runs them\n",
  )
  expect(ofSkips(new Map(), [packages])).toBe("")
})

const cost = (file: string, starts: number, cpuMs: number) => ({
  file: `test/e2e/${file}.test.ts`,
  starts,
  cpuMs,
})

test("the dearest files are the first ten by CPU, and one alone is not compared", () => {
  const costs = Array.from({ length: 12 }, (_, n) => cost(`${n}`, n, n * 1000))
  const [, ...lines] = dearest(costs).trimEnd().split("\n")
  expect(lines).toHaveLength(10)
  expect(lines[0]).toBe("  11.0 s     11  test/e2e/11.test.ts")
  expect(lines.at(-1)).toEndWith("test/e2e/2.test.ts")
  expect(dearest([cost("1", 1, 1000)])).toBe("")
  expect(inAll(148_210, 99_960)).toBe("took 148 s, 100.0 s of CPU\n")
})

test("a file that starts more than 20 processes is over its budget", () => {
  expect(overBudget([cost("a", 20, 1)])).toBe("")
  expect(overBudget([cost("a", 20, 1), cost("b", 21, 1)])).toStartWith(
    "test/e2e/b.test.ts starts 21 processes; ",
  )
})

test("a file's cost has what it started in three ways, each file's its own", async () => {
  using folder = temporaryFolder()
  const notes = join(folder.path, "notes")
  // 0.1 s of CPU
  const child = `["${process.execPath}", "-e", "while (process.cpuUsage().user < 1e5);"]`
  writeFileSync(
    join(folder.path, "a.test.ts"),
    `import { execFileSync } from "node:child_process"
import { test } from "bun:test"
test("", async () => {
  const [program, ...args] = ${child}
  Bun.spawnSync([program, ...args])
  execFileSync(program, args)
  await Bun.spawn([program, ...args]).exited
})`,
  )
  writeFileSync(join(folder.path, "b.test.ts"), `require("bun:test").test("", () => {})`)
  const preload = join(import.meta.dir, "../support/note-costs.ts")
  const tests = Bun.spawn(
    [process.execPath, "test", "--timeout=300000", "--isolate", `--preload=${preload}`],
    {
      cwd: folder.path,
      env: { ...process.env, HOOKLINE_TEST_NOTES: notes },
      stderr: "ignore",
    },
  )
  expect(await tests.exited).toBe(0)
  const [a, b] = readFileSync(notes, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as ReturnType<typeof cost>)
  expect(a).toMatchObject({ file: "a.test.ts", starts: 3 })
  expect(b).toMatchObject({ file: "b.test.ts", starts: 0 })
  expect(a!.cpuMs).toBeGreaterThan(300)
})
