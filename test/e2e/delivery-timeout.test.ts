import { expect, test } from "bun:test"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { openSocket, post } from "../support/http-socket.ts"

const DELIVERY_TIMEOUT_MS = 200

test("an event whose body takes longer than delivery_timeout to arrive is published: the time counts from there", async () => {
  using folder = temporaryFolder()
  const running = await startHookline(
    `[connection:log]
directory = log
delivery_timeout = ${DELIVERY_TIMEOUT_MS}ms
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:webhooks:BrokerSink]
topic = webhooks
[admin]
listen = off`,
    { folder: folder.path },
  )
  try {
    using socket = await openSocket(Number(new URL(running.urls["webhooks"]!).port))
    socket.send(`${post("Content-Length: 7")}{"n":`)
    await Bun.sleep(2 * DELIVERY_TIMEOUT_MS)
    socket.send("1}")
    expect(await socket.until(/^HTTP/)).toStartWith("HTTP/1.1 200 ")
  } finally {
    await running.stop()
  }
})
