import { test } from "bun:test"
import { blocksBelow } from "../support/documents.ts"
import { canStartKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { follow, openSession } from "../support/page-session.ts"
import { usesKafka } from "../support/tools.ts"

const hasKafka = (await canStartKafka()) && hasKcat()

test.skipIf(!hasKafka)(
  "README.md: the file of ten lines publishes to a Kafka, which kcat reads",
  async () => {
    usesKafka()
    await using session = await openSession()
    await follow(session, blocksBelow("README.md", "Run it with Kafka"))
  },
)
