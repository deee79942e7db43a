/**
 * `npm test`: the unit tests, the end-to-end tests, 20 seeds of the simulation, and those fault tests that take
 * seconds; the others are left to `npm run test:faults`. `npm run test:long` (`--long`): end-to-end tests that take longer,
 * since they start clusters, browsers or compilers of their own. Files run in several processes at a time, which share one
 * Kafka; each has a global object and modules of its own (`--parallel` implies `--isolate`). `npm test FILE …` runs these
 * alone; flags go to `bun test`: `--randomize` for any order. While all run (without `--long`), Hookline's default ports
 * are taken, as they are where it runs: a test that listens on one of them fails.
 */
import { existsSync, mkdirSync, readdirSync } from "node:fs"
import { createServer } from "node:net"
import { availableParallelism } from "node:os"
import { dirname, join, relative } from "node:path"
import { NOTING_COSTS, runTests } from "./support/run-tests.ts"

/** Fault tests that take more than five seconds, load the machine, or measure what others would disturb. */
const LEFT_TO_FAULTS: readonly string[] = [
  "clock",
  "damaged-pages",
  "embedded-disk",
  "failing-disk",
  "files-taken-away",
  "forward",
  "handler-transactions",
  "hostile-folder",
  "kafka-broker",
  "kafka-broker-down",
  "kafka-broker-network",
  "kafka-clock",
  "kafka-cluster",
  "kafka-error-codes",
  "kafka-hints",
  "kafka-hookline-killed",
  "kafka-idle",
  "kafka-overload",
  "kafka-poison",
  "kafka-readiness",
  "kafka-refusals",
  "kafka-reconcile",
  "kafka-replay",
  "kafka-rolling-restart",
  "kafka-slow",
  "kafka-small-requests",
  "kafka-spool",
  "kafka-spool-reload",
  "kafka-starvation",
  "kafka-topic-deleted",
  "kafka-wrong-answers",
  "log-backup",
  "log-copies-killed",
  "log-exchanged",
  "overload",
  "postgres",
  "read-errors",
  "retention-killed",
  "stalling-disk",
  "surroundings",
]
/** A test waits as long as it computes: one process for each of two cores leaves half of their time idle. */
const PROCESSES = 4
/** Clusters, browsers and compilers compute in several processes each. */
const PROCESSES_OF_LONG = Math.min(Math.max(2, availableParallelism()) + 1, 4)
/** How long each file took in the last run of all; the next one begins with the longest. */
const TIMINGS = join(import.meta.dir, "../node_modules/.cache/hookline-test-timings.json")
/** Of a webhook source, the admin API and the Kafka listener. */
const DEFAULT_PORTS: readonly number[] = [8080, 9464, 9092]

const root = join(import.meta.dir, "..")
const faults = readdirSync(join(root, "test/faults"))
  .filter((name) => name.endsWith(".test.ts") && !LEFT_TO_FAULTS.includes(name.replace(/\.test\.ts$/, "")))
  .map((name) => `./test/faults/${name}`)

const args = process.argv.slice(2)
const isLong = args[0] === "--long"
/** Files and folders that the command line names: then these alone. */
const named = args.filter((arg) => !arg.startsWith("-") && existsSync(join(root, arg)))
const flags = args.filter((arg) => arg !== "--long" && !named.includes(arg))
const all = isLong
  ? ["./test/long"]
  : [
      "./src",
      "./console",
      "./scripts",
      "./supply-chain",
      "./test/e2e",
      "./test/fuzz",
      "./test/histories",
      "./test/simulation",
      ...faults,
    ]
const files = named.length === 0 ? all : named.map((path) => `./${relative(root, join(root, path))}`)

for (const port of isLong || named.length > 0 ? [] : DEFAULT_PORTS) {
  // Hookline itself may have it
  createServer()
    .on("error", () => {})
    .listen(port)
    .unref()
}

const isWhole = named.length === 0
const processes = `--parallel=${isLong ? PROCESSES_OF_LONG : PROCESSES}`
process.exitCode = await runTests(
  [processes, NOTING_COSTS, ...(isWhole ? longestFirst() : []), ...files, ...flags],
  {},
  { builds: isWhole, startsKafka: isWhole },
)

/** The arguments with which `bun test` reads and writes `TIMINGS`. */
function longestFirst(): readonly string[] {
  mkdirSync(dirname(TIMINGS), { recursive: true })
  return [`--timings=${TIMINGS}`, "--update-timings"]
}
