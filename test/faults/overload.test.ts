import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { temporaryFolder } from "../support/hookline.ts"
import { openSocket, post, type RawSocket } from "../support/http-socket.ts"
import {
  COLLAPSE,
  FEW,
  least,
  MOST_ROUNDS,
  Overloaded,
  ROUNDS,
  SMALL,
  withstandsOverload,
  type Seen,
} from "../support/overloaded.ts"
import { eventsInLog } from "../support/webhook-service.ts"
import { hasWrk } from "../support/wrk.ts"

describe.skipIf(!hasWrk())("overload of the embedded log", () => {
  const folder = temporaryFolder()
  let overloaded: Overloaded

  beforeAll(async () => {
    overloaded = await Overloaded.start("the embedded log", "directory = log", folder.path)
  })
  afterAll(async () => {
    await overloaded.running.stop()
    folder[Symbol.dispose]()
  })

  withstandsOverload(
    () => overloaded,
    () => eventsInLog(`${folder.path}/log`, "numbered"),
  )

  test("1,000 senders of a byte a second leave the others untouched", async () => {
    await overloaded.inFlight(0)
    const alone = [await overloaded.run("alone", FEW, SMALL), await overloaded.run("alone", FEW, SMALL)]
    const slow: RawSocket[] = []
    for (let n = 0; n < 1000; n++) {
      const socket = await openSocket(overloaded.port)
      socket.send(`${post(`Content-Length: ${n % 2 === 0 ? 1000 : 1_000_000}`)}{`)
      slow.push(socket)
    }
    await overloaded.inFlight(1000)
    const dripping = setInterval(() => slow.forEach((socket) => socket.send(" ")), 1000)
    try {
      const beside: Seen[] = []
      const most = least(alone) * COLLAPSE
      // on a busy machine single rounds cost a third more, slow senders or not
      for (let round = 0; round < ROUNDS || (round < MOST_ROUNDS && least(beside) >= most); round++)
        beside.push(await overloaded.run("beside slow senders", FEW, SMALL))
      expect(beside.filter(({ unavailable }) => unavailable > 0)).toEqual([])
      expect(least(beside)).toBeLessThan(most)
      const large = await overloaded.run("large, beside slow senders", 16, 500_000)
      expect(large.unavailable).toBe(0)
    } finally {
      clearInterval(dripping)
      for (const socket of slow) socket[Symbol.dispose]()
    }
  })
})
