import { afterAll, afterEach, beforeAll } from "bun:test"
import { startKafka, type KafkaSettings, type OwnKafka } from "./kafka.ts"

/** What stands between clients and a broker. */
interface Between extends AsyncDisposable {
  /** `host:port` where clients connect. */
  readonly address: string
  /** `host:port` of the broker. */
  target: string | undefined
}

/**
 * Starts a Kafka that tells clients that connect through `between` to stay there: the first broker through the first,
 * and so on. They lead to it once it is started.
 */
export async function startKafkaBehind(
  between: readonly Between[],
  settings: KafkaSettings = {},
): Promise<OwnKafka> {
  const kafka = await startKafka({
    ...settings,
    listeners: { ...settings.listeners, [LISTENER]: "PLAINTEXT" },
    advertised: { ...settings.advertised, [LISTENER]: between.map(({ address }) => address) },
  })
  for (const [at, one] of between.entries()) one.target = addressBehind(kafka, at)
  return kafka
}

/**
 * The Kafka of the tests of a file or `describe`: started before them, behind what stands before it, and ended with that
 * after them; its brokers are brought back after each test.
 */
export function kafkaOfTests(settings: KafkaSettings = {}, between: readonly Between[] = []): OwnKafka {
  let kafka: OwnKafka | undefined
  const stop = async (): Promise<void> => {
    await kafka?.stop()
    for (const one of between) await one[Symbol.asyncDispose]()
  }
  beforeAll(async () => {
    kafka = await (between.length === 0 ? startKafka(settings) : startKafkaBehind(between, settings))
  })
  afterEach(() => Promise.all(kafka!.nodes.map((node) => node.restore())))
  afterAll(stop)
  return {
    get bootstrapServers() {
      return kafka!.bootstrapServers
    },
    get nodes() {
      return kafka!.nodes
    },
    listener: (name) => kafka!.listener(name),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Where a broker of such a Kafka takes the connections of what stands before it. */
export function addressBehind(kafka: OwnKafka, broker = 0): string {
  return kafka.listener(LISTENER)[broker]!
}

const LISTENER = "PROXIED"
