import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { join } from "node:path"
import { temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { eventsInLog, startService } from "../support/webhook-service.ts"
import { PATIENT_MS } from "../support/hang.ts"

const TOPIC = "webhooks"

test("killed before the store's file has the key of a published event, a Deduplicator on its log knows it all the same", async () => {
  using folder = temporaryFolder()
  const directory = join(folder.path, "log")
  const start = (): Promise<RunningHookline> =>
    startService({
      folder: folder.path,
      connection: `directory = ${directory}`,
      source: "[pipeline:webhooks:Deduplicator]\nkey = json:/n",
      topic: TOPIC,
      deliveryTimeoutMs: PATIENT_MS,
    })
  const post = async ({ urls }: RunningHookline, n: number): Promise<number> =>
    (await fetch(urls["webhooks"]!, { method: "POST", body: JSON.stringify({ n, k: "k" }) })).status

  const killed = await start()
  expect(await post(killed, 0)).toBe(200)
  const holder = new Database(join(directory, "marks.sqlite"))
  holder.run("BEGIN IMMEDIATE")
  const events = [1, 2, 3]
  expect(await Promise.all(events.map((n) => post(killed, n)))).toEqual([200, 200, 200])
  killed.signal("SIGKILL")
  await killed.exited
  holder.close()

  const running = await start()
  expect(await Promise.all(events.map((n) => post(running, n)))).toEqual([200, 200, 200])
  expect(await running.stop()).toBe(0)
  const numbers = (await eventsInLog(directory, TOPIC)).map(({ number }) => number)
  expect(numbers.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3])
})
