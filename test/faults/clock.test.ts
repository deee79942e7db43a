import { describe, expect, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { fault, onLog } from "../support/fault.ts"
import { folderOfTests } from "../support/hookline.ts"
import { movableClock } from "../support/movable-clock.ts"
import { isAcknowledged } from "../support/numbered-senders.ts"
import { serving } from "../support/webhook-service.ts"

const HOUR_S = 3600
/** Back an hour, then ahead by nearly two. */
const OFFSETS_S = [-HOUR_S, 0.8 * HOUR_S]

const folder = folderOfTests()
const clock = movableClock(folder.path)

describe.skipIf(clock === undefined)("the clock set back an hour, then ahead", () => {
  const settings = { env: clock?.env ?? {}, allAcked: true }

  test("over an embedded log: every event is accepted, and retention deletes none that is younger", async () => {
    clock!.set(0)
    await fault("clock set back and ahead, embedded log", onLog(`retention = ${2 * HOUR_S}s`), {
      ...settings,
      async during({ senders }) {
        for (const offsetS of OFFSETS_S) {
          clock!.set(offsetS)
          await senders.many(300)
        }
        clock!.set(0)
      },
    })
  })

  test("two hours ahead for a moment, over an embedded log that keeps events for one: none is lost", async () => {
    clock!.set(0)
    const row = "clock two hours ahead for 1.5 s, retention of one"
    await fault(row, onLog(`retention = ${HOUR_S}s`), {
      ...settings,
      async during({ senders }) {
        clock!.set(2 * HOUR_S)
        await senders.backAfterMs(steadyMs() + 1500)
        clock!.set(0)
      },
    })
  })

  test("two hours ahead at a start, over an embedded log that keeps events for one: none is lost, then or when it is corrected", async () => {
    clock!.set(0)
    const row = "clock two hours ahead at a start (kill -9) and corrected before another, retention of one"
    await fault(row, onLog(`retention = ${HOUR_S}s`), {
      env: settings.env,
      async during({ senders, restart }) {
        for (const offsetS of [2 * HOUR_S, 0]) {
          clock!.set(offsetS)
          await senders.many(50)
          await restart()
          await senders.many(50)
        }
      },
    })
  })

  test("a year ahead for a moment and at a start, with a Deduplicator: what is sent again is not published again", async () => {
    clock!.set(0)
    const row = "clock a year ahead for a moment and at a start (kill -9), events sent again, Deduplicator"
    await fault(row, onLog(), {
      env: settings.env,
      source: "[pipeline:webhooks:Deduplicator]\nkey = json:/n\nwindow = 1h",
      async during(load) {
        const { senders } = load
        const again = async (): Promise<void> => {
          for (const { number: n, key: k } of senders.posted.filter(isAcknowledged).slice(-100)) {
            const body = JSON.stringify({ n, k })
            const { status } = await fetch(serving(load.running).url, { method: "POST", body })
            expect(status).toBe(200)
          }
        }
        for (const offsetS of [365 * 24 * HOUR_S, 0]) {
          clock!.set(offsetS)
          await again()
          await senders.many(50)
          await load.restart()
          await senders.many(50)
          await again()
        }
      },
    })
  })
})
