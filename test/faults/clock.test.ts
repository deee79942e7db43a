import { describe, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { fault, onLog } from "../support/fault.ts"
import { folderOfTests } from "../support/hookline.ts"
import { movableClock } from "../support/movable-clock.ts"

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
})
