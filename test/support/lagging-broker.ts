import { METADATA, readMetadata, writeMetadata, type Metadata } from "./kafka-frames.ts"
import type { Interceptor } from "./kafka-interceptor.ts"

type TopicMetadata = Metadata["topics"][number]

/** A broker that can be made to tell of a topic what held earlier, as one does that is cut off from the controller. */
export interface LaggingBroker {
  /** Resolves when the broker has next told of the topic, and passes. */
  told(topic: string, passes: (told: TopicMetadata) => boolean): Promise<TopicMetadata>
  /** From now on this is told of the topic; resolves when a client got it twice, which has thus taken it at least once. */
  lag(earlier: TopicMetadata): Promise<void>
  /** It tells what holds; resolves when a client got that twice. */
  catchUp(): Promise<void>
}

/** Takes a broker's interceptor over. */
export function laggingBroker(interceptor: Interceptor): LaggingBroker {
  let shown: TopicMetadata | undefined
  const watching = new Set<(topics: readonly TopicMetadata[]) => void>()
  const tell = (body: Buffer): Buffer => {
    const metadata = readMetadata(body)
    const { topics } = metadata
    const at = topics.findIndex(({ name }) => name === shown?.name)
    if (shown !== undefined && at >= 0) topics[at] = shown
    for (const watch of watching) watch(topics)
    return writeMetadata(metadata)
  }
  interceptor.handle = ({ apiKey }) => (apiKey === METADATA ? { change: tell } : "pass")
  /** Resolves with the topic when it was told so many times and passes each time. */
  const seen = (
    name: string,
    times: number,
    passes: (told: TopicMetadata) => boolean,
  ): Promise<TopicMetadata> => {
    const { promise, resolve } = Promise.withResolvers<TopicMetadata>()
    let left = times
    const watch = (topics: readonly TopicMetadata[]): void => {
      const found = topics.find((topic) => topic.name === name)
      if (found === undefined || !passes(found) || --left > 0) return
      watching.delete(watch)
      resolve(found)
    }
    watching.add(watch)
    return promise
  }
  return {
    told: (topic, passes) => seen(topic, 1, passes),
    async lag(earlier) {
      shown = earlier
      await seen(earlier.name!, 2, (told) => told === earlier)
    },
    async catchUp() {
      const { name } = shown!
      shown = undefined
      await seen(name!, 2, () => true)
    },
  }
}
