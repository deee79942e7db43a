/**
 * The process that the embedded log's tests kill: `embedded-publisher.ts DIRECTORY FIRST` publishes FIRST, FIRST + 1, …
 * to the topic `numbers` from many publishers at once and prints each number once it is acknowledged.
 */
import { pino } from "pino"
import { openEmbedded } from "../../src/brokers/embedded.ts"
import { steadyMs } from "../../src/steady-clock.ts"

const [directory, first] = process.argv.slice(2)
const broker = openEmbedded(
  { directory: directory! },
  { log: pino({ level: "silent" }), metrics: { batch() {} } },
)
const padding = "x".repeat(1000)
let next = Number(first)

await Promise.all(
  Array.from({ length: 32 }, async () => {
    for (;;) {
      const number = next++
      await broker.publish(
        { topic: "numbers", value: Buffer.from(`${number} ${padding}`) },
        steadyMs() + 5000,
      )
      process.stdout.write(`${number}\n`)
    }
  }),
)
