import { afterAll, beforeAll, describe } from "bun:test"
import { temporaryFolder } from "../support/hookline.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { canStartKafka, createTopic } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { Overloaded, withstandsOverload } from "../support/overloaded.ts"
import { eventsInKafka, onKafka } from "../support/webhook-service.ts"
import { hasWrk } from "../support/wrk.ts"

const available = (await canStartKafka()) && hasKcat() && hasWrk()
describe.skipIf(!available)("overload of Kafka", () => {
  const folder = temporaryFolder()
  const kafka = kafkaOfTests({
    isForLoad: true,
    properties: { "log.retention.check.interval.ms": "500" },
  })
  let overloaded: Overloaded

  beforeAll(async () => {
    const bounded = {
      "retention.bytes": "16777216",
      "segment.bytes": "8388608",
      "file.delete.delay.ms": "100",
    }
    await createTopic(kafka, "flood", { partitions: 4, configs: bounded })
    await createTopic(kafka, "numbered", { partitions: 4 })
    overloaded = await Overloaded.start("Kafka", onKafka(kafka), folder.path)
  })
  afterAll(async () => {
    await overloaded.running.stop()
    folder[Symbol.dispose]()
  })

  withstandsOverload(
    () => overloaded,
    () => eventsInKafka(kafka, "numbered"),
  )
})
