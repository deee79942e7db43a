import { expect, test } from "bun:test"
import { Replays } from "./replays.ts"
import { openAdmin } from "./server.ts"
import type { Service } from "./service.ts"

test("a fault while a request is answered gets 500 without its cause, which is logged", async () => {
  const faults: unknown[] = []
  const fault = new Error("of the process, not for callers")
  const service: Service = {
    startedAtMs: 0,
    readiness: () => Promise.reject(fault),
    metrics: () => Promise.reject(fault),
    activity: () => Promise.resolve([]),
    pipelines: () => [],
    connections: () => [],
    openReader: () => Promise.reject(fault),
    captureMode: () => "off",
    receivers: () => [],
    verifications: () => [],
    explain: () => Promise.reject(fault),
    replays: new Replays(
      {
        connection: () => undefined,
        openReader: () => Promise.reject(fault),
        openBroker: () => Promise.reject(fault),
      },
      { info() {}, error() {} },
    ),
    logLevel: () => "info",
    setLogLevel: () => Promise.reject(fault),
  }
  const admin = openAdmin(
    { host: "127.0.0.1", port: 0 },
    {},
    { service, failed: (error) => faults.push(error) },
  )
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
