import { expect, test } from "bun:test"
import { pino } from "pino"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { steadyMs } from "../steady-clock.ts"
import { logIn } from "./embedded-file.ts"
import { LogStore } from "./embedded-store.ts"
import { LogWriter } from "./embedded-writer.ts"

test("a queue of several batches is committed in one turn of the event loop", async () => {
  using folder = temporaryFolder()
  let batches = 0
  const store = new LogStore(logIn(folder.path), {
    log: pino({ level: "silent" }),
    open: (place) => new LogWriter(place),
    batchBytes: 1,
    committed: () => batches++,
    recovered: () => {},
    now: Date.now,
  })
  const publish = (value: string): Promise<unknown> =>
    store.publish({ topic: "a", value: Buffer.from(value) }, steadyMs() + 60_000)
  const [first, ...others] = ["1", "2", "3"].map(publish)
  await first
  expect(batches).toBe(3)
  await Promise.all(others)
  await store.close()
})
