import { readTopic } from "../../src/brokers/read-topic.ts"
import { openEmbeddedReader } from "../../src/brokers/embedded/reader.ts"

/**
 * The values of a topic of an embedded log, which have to be UTF-8, in the order of their offsets. None: there is no such
 * topic.
 *
 * @throws where offsets have a gap
 */
export async function valuesInLog(directory: string, topic: string): Promise<string[]> {
  const reader = openEmbeddedReader(directory)
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
  const { signal } = new AbortController()
  const values: string[] = []
  try {
    if (!(await reader.topics()).some((it) => it.topic === topic)) return []
    for await (const { value, offset } of readTopic(reader, topic, {
      from: "beginning",
      follow: false,
      signal,
    })) {
      if (offset !== values.length) throw new Error(`offset ${offset} stands where ${values.length} should`)
      values.push(utf8.decode(value))
    }
    return values
  } finally {
    await reader.close()
  }
}
