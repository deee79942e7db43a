import { steadyMs } from "../../src/clock/clock.ts"
import type { TestKafka } from "./kafka.ts"
import { hasTools } from "./tools.ts"

/** A record as kcat, an independent client, reads it. */
export interface KcatRecord {
  readonly partition: number
  readonly offset: number
  readonly timestampMs: number
  /** Undefined: the record has none. */
  readonly key: Buffer | undefined
  readonly value: Buffer
  /** As kcat writes them: `name=value,name=value`. */
  readonly headers: string
}

/** As `hasTools`. */
export const hasKcat = (): boolean => hasTools("kcat")

/** Reads a topic from its beginning to its end, byte for byte, ordered by offset within each partition. */
export async function readWithKcat(kafka: TestKafka, topic: string): Promise<KcatRecord[]> {
  // %K and %S are the lengths of key and value in bytes, -1 for none; the bytes themselves follow the line.
  const format = "%p %o %T %K %S %h\n%k%s"
  const servers = kafka.bootstrapServers.join(",")
  const kcat = Bun.spawn(
    ["kcat", "-C", "-q", "-e", "-b", servers, "-t", topic, "-o", "beginning", "-f", format],
    {
      stdout: "pipe",
      stderr: "pipe",
    },
  )
  const [bytes, complaint] = await Promise.all([kcat.stdout.bytes(), kcat.stderr.text()])
  if ((await kcat.exited) !== 0) throw new Error(`kcat could not read ${topic}: ${complaint}`)
  return [...parse(Buffer.from(bytes))].toSorted((a, b) => a.partition - b.partition || a.offset - b.offset)
}

/** Publishes a record again and again until it is taken, and resolves with the time of that, by the steady clock. */
export async function takenFromKcat(kafka: TestKafka, topic: string, partition = 0): Promise<number> {
  const settings = ["-X", "message.timeout.ms=1000", "-X", "socket.timeout.ms=1000", "-X", "topic.acks=all"]
  const servers = kafka.bootstrapServers.join(",")
  for (;;) {
    const kcat = Bun.spawn(["kcat", "-P", "-b", servers, "-t", topic, "-p", `${partition}`, ...settings], {
      stdin: new Blob(["probe\n"]),
      stderr: "ignore",
    })
    if ((await kcat.exited) === 0) return steadyMs()
  }
}

function* parse(bytes: Buffer): Generator<KcatRecord> {
  let at = 0
  while (at < bytes.length) {
    const end = bytes.indexOf(10, at)
    const line = bytes.toString("utf8", at, end)
    const [partition, offset, timestampMs, keyLength, valueLength] = line.split(" ").map(Number) as [
      number,
      number,
      number,
      number,
      number,
    ]
    const headers = line.split(" ").slice(5).join(" ")
    const keyEnd = end + 1 + Math.max(keyLength, 0)
    const key = keyLength < 0 ? undefined : bytes.subarray(end + 1, keyEnd)
    const value = bytes.subarray(keyEnd, keyEnd + valueLength)
    yield { partition, offset, timestampMs, key, value, headers }
    at = keyEnd + valueLength
  }
}
