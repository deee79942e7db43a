import { expect, test } from "bun:test"
import { ofKafka, ofSkips } from "../support/run-tests.ts"
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
