import { expect, test } from "bun:test"
import { openSocket } from "../../test/support/http-socket.ts"
import { Captures } from "./captured.ts"
import { Replays } from "./replays.ts"
import { Sampler } from "./sampler.ts"
import { openAdmin, type AdminDeps } from "./server.ts"
import type { Service } from "./service.ts"

const serviceWith = (fault: Error): Service => ({
  id: "",
  startedAtMs: 0,
  readiness: () => {
    throw fault
  },
  metrics: () => {
    throw fault
  },
  activity: () => Promise.resolve({ process: "", events: [], bounds: [], latencies: [], notes: [] }),
  pipelines: () => [],
  connections: () => [],
  openReader: () => Promise.reject(fault),
  openBroker: () => Promise.reject(fault),
  groups: () => Promise.reject(fault),
  forwards: () => [],
  extensions: () => [],
  configuration: () => ({ loadedAtMs: 0, problem: undefined }),
  problemKinds: [],
  sectionLists: [],
  sections: () => [],
  captureMode: () => "off",
  receiver: { captures: new Captures(), submit: () => Promise.reject(fault) },
  verifications: () => [],
  explain: () => Promise.reject(fault),
  reload: () => Promise.reject(fault),
  replays: new Replays(
    {
      connection: () => undefined,
      openReader: () => Promise.reject(fault),
      openBroker: () => Promise.reject(fault),
      process: "",
      redis: () => undefined,
      listedUrls: () => [],
    },
    { info() {}, error() {} },
  ),
  logLevel: () => "info",
  setLogLevel: () => Promise.reject(fault),
})

const depsOf = (service: Service, faults: unknown[]): AdminDeps => {
  const failed = (error: unknown) => faults.push(error)
  return { service, sampler: new Sampler(service, failed), failed, log: { info() {}, warn() {} } }
}

test("a fault while a request is answered gets 500 without its cause, which is logged", async () => {
  const faults: unknown[] = []
  const fault = new Error("of the process, not for callers")
  const admin = openAdmin({ host: "127.0.0.1", port: 0 }, undefined, {}, depsOf(serviceWith(fault), faults))
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

const READY = {
  state: "ready",
  pipelines: [],
  connections: [],
  impaired: [],
  stores: [],
  spools: [],
} as const

test("a check without a Host header, as HAProxy's by default, is answered", async () => {
  const faults: unknown[] = []
  const admin = openAdmin(
    { host: "127.0.0.1", port: 0 },
    undefined,
    {},
    depsOf({ ...serviceWith(new Error("not asked")), readiness: () => READY }, faults),
  )
  try {
    using socket = await openSocket(Number(new URL(admin.url).port))
    socket.send("GET /healthz HTTP/1.0\r\n\r\n")
    expect(await socket.until(/ok\n$/)).toStartWith("HTTP/1.1 200 OK")
    for (const request of [
      "GET /api/log-level HTTP/1.0\r\n",
      'POST /api/session HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"token":""}',
      "GET /api/log-level HTTP/1.0\r\nOrigin: http://localhost\r\n",
    ]) {
      using api = await openSocket(Number(new URL(admin.url).port))
      api.send(`${request}\r\n`)
      expect(await api.until(/\r\n\r\n/)).toMatch(/^HTTP\/1.1 (200|204|403) /)
    }
  } finally {
    await admin.close()
  }
  expect(faults).toEqual([])
})
