import { expect, test } from "bun:test"
import { openSocket } from "../../test/support/http-socket.ts"
import { openAdmin, type Status } from "./server.ts"

test("a fault while a request is answered gets 500 without its cause, which is logged", async () => {
  const faults: unknown[] = []
  const fault = new Error("of the process, not for callers")
  const status: Status = { readiness: () => Promise.reject(fault), metrics: () => Promise.reject(fault) }
  const admin = openAdmin({ host: "127.0.0.1", port: 0 }, {}, status, (error) => faults.push(error))
  try {
    for (const path of ["/readyz", "/metrics"]) {
      const response = await fetch(admin.url + path)
      expect([response.status, await response.text()]).toEqual([500, "internal error\n"])
    }
  } finally {
    await admin.close()
  }
  expect(faults).toEqual([fault, fault])
})

test("a check without a Host header, as HAProxy's by default, is answered", async () => {
  const status: Status = {
    readiness: () => Promise.reject(new Error("not asked")),
    metrics: () => Promise.reject(new Error("not asked")),
  }
  const faults: unknown[] = []
  const admin = openAdmin({ host: "127.0.0.1", port: 0 }, {}, status, (error) => faults.push(error))
  try {
    using socket = await openSocket(Number(new URL(admin.url).port))
    socket.send("GET /healthz HTTP/1.0\r\n\r\n")
    expect(await socket.until(/ok\n$/)).toStartWith("HTTP/1.1 200 OK")
  } finally {
    await admin.close()
  }
  expect(faults).toEqual([])
})
