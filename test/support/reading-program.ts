/**
 * Reads topic `t` of the log in a folder as `tail` and as Kafka clients do, while its disk answers no read and when it does
 * again, and prints what came of it: `reading-program.ts DIRECTORY LIBRARY ORDERS`, as of disk-model.ts.
 */
import { KafkaLog } from "../../src/brokers/embedded/kafka-log.ts"
import { openEmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { LogView } from "../../src/kafka-listener/log-view.ts"
import { SharedCounters } from "../../src/kafka-listener/shared-counters.ts"
import { orderedDisk } from "./disk-model.ts"

const [directory, library, orders] = process.argv.slice(2) as [string, string, string]
const disk = orderedDisk(library, orders, directory)
const reader = openEmbeddedReader(directory)
const reasons: string[] = []
const view = new LogView(
  () => new KafkaLog(directory),
  new SharedCounters(),
  ({ topic }) => reasons.push(`damaged: ${topic}`),
  (reason) => reasons.push(reason),
)
view.open()

async function tail(): Promise<number | string> {
  const ranges = await reader.ranges("t")
  const records = await Array.fromAsync(
    reader.read("t", ranges, { retries: false, signal: new AbortController().signal }),
  )
  return records.length
}

async function fetch(): Promise<number | undefined> {
  await view.whenOpen()
  try {
    const of = { topic: view.topic("t")!, partition: 0 }
    return view.batch(of, view.offsets(of)!.first, 1_000_000_000)!.endOffset
  } catch (error) {
    return view.codeOf(error)
  }
}

async function outcomes() {
  const tailed = await tail().catch(
    (error: { code: string; message: string }) => `${error.code} ${error.message}`,
  )
  return { tailed, fetched: await fetch(), reasons: reasons.splice(0) }
}

disk.failReads(true)
const during = await outcomes()
disk.failReads(false)
console.log(JSON.stringify({ during, after: await outcomes() }))
await reader.close()
