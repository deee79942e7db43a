/**
 * `npm run kafka`: an Apache Kafka of one broker on localhost:9092, or `-- --port N`, until Ctrl-C, which deletes its
 * topics. It takes Java 17 and Maven, which fetches it the first time.
 */
import { parseArgs } from "node:util"
import { kafkaClassPath, VERSION } from "../test/support/kafka-jars.ts"
import { startKafka } from "../test/support/kafka.ts"

const { values } = parseArgs({ options: { port: { type: "string", default: "9092" } } })
const found = await kafkaClassPath()
if ("missing" in found) {
  process.stderr.write(`${found.missing}. On Debian and Ubuntu: apt-get install default-jdk-headless maven\n`)
  process.exit(69)
}
const kafka = await startKafka({ port: Number(values.port), isForLoad: true })
// the broker's process keeps nothing waiting
const running = setInterval(() => {}, 2 ** 30)
let stopped: Promise<void> | undefined
// each Ctrl-C comes twice: from the terminal, and from npm
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    clearInterval(running)
    stopped ??= kafka.stop()
  })
process.stdout.write(
  `Kafka ${VERSION} listens on localhost:${values.port}; Ctrl-C ends it and deletes its topics\n`,
)
