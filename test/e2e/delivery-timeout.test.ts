import { expect, test } from "bun:test"
import { temporaryFolder } from "../support/hookline.ts"
import { openSocket, post } from "../support/http-socket.ts"
import { ON_LOG, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 200

test("an event whose body takes longer than delivery_timeout to arrive is published: the time counts from there", async () => {
  using folder = temporaryFolder()
  await using running = await startService({
    folder: folder.path,
    ...ON_LOG,
    deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
  })
  using socket = await openSocket(Number(new URL(running.urls["webhooks"]!).port))
  socket.send(`${post("Content-Length: 7")}{"n":`)
  await Bun.sleep(2 * DELIVERY_TIMEOUT_MS)
  socket.send("1}")
  expect(await socket.until(/^HTTP/)).toStartWith("HTTP/1.1 200 ")
})
