import { expect, test } from "bun:test"
import { startHookline, temporaryFolder } from "../support/hookline.ts"

test("an event that the broker does not acknowledge is answered 503 after its pipeline's delivery_timeout, not the connection's", async () => {
  using folder = temporaryFolder()
  const source = (id: string, timeout: string): string =>
    `[pipeline:${id}:WebHookSource]\npath = /${id}\n${timeout}\n[pipeline:${id}:BrokerSink]\ntopic = ${id}\n`
  await using running = await startHookline(
    `[connection:kafka]\nbootstrap_servers = 127.0.0.1:1\ndelivery_timeout = 3s\n${source("short", "delivery_timeout = 200ms")}${source("long", "")}`,
    { folder: folder.path },
  )
  const answer = (id: string): Promise<number> =>
    fetch(running.urls[id]!, { method: "POST", body: "{}" }).then(({ status }) => status)
  const long = answer("long")
  const first = await Promise.race([answer("short"), long.then(() => "the connection's")])
  expect(first).toBe(503)
  expect(await long).toBe(503)
})
