import { afterAll, beforeAll, describe, test } from "bun:test"
import { join } from "node:path"
import { report } from "../support/fault-table.ts"
import { expectKept } from "../support/findings.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { DELIVERY_TIMEOUT_MS, endAgainAndAgain, kill, KILLS } from "../support/kills.ts"
import { eventsInLog } from "../support/webhook-service.ts"

describe("Hookline on an embedded log", () => {
  const folder = temporaryFolder()
  const topic = "webhooks"
  let directory: string
  const broker = () => ({
    connection: `directory = ${directory}`,
    topic,
    read: () => eventsInLog(directory, topic),
  })
  beforeAll(() => {
    directory = join(folder.path, "log")
  })
  afterAll(() => folder[Symbol.dispose]())

  test(`killed ${KILLS} times under load: nothing acknowledged is lost, nothing is doubled`, async () => {
    const findings = await endAgainAndAgain(KILLS, kill, broker())
    report(`Hookline on its log killed ${KILLS} times`, findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
  }, 120_000)
})
