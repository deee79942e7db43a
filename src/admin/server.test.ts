import { expect, test } from "bun:test"
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
