import { startKafka, type KafkaSettings, type OwnKafka } from "./kafka.ts"

/** What stands between clients and a broker. */
interface Between {
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

/** Where a broker of such a Kafka takes the connections of what stands before it. */
export function addressBehind(kafka: OwnKafka, broker = 0): string {
  return kafka.listener(LISTENER)[broker]!
}

const LISTENER = "PROXIED"
