import { expect, test } from "bun:test"
import { readdirSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { cpuMicroseconds } from "../../bench/process.ts"
import { HANG_MS } from "../support/hang.ts"
import { temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { problemsIn } from "../support/problems-in.ts"
import { openSocket, post } from "../support/http-socket.ts"
import { configurationOf, ON_LOG, startService } from "../support/webhook-service.ts"

/** Connections that are opened all at once and say nothing; refused ones are none. */
function openMany(port: number, count: number): Disposable {
  const sockets: Socket[] = []
  for (let n = 0; n < count; n++) sockets.push(connect(port, "127.0.0.1").on("error", () => {}))
  return {
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

const portOf = (running: RunningHookline): number => Number(new URL(running.urls["webhooks"]!).port)

/** Asks over a connection of its own, as a probe does. */
async function probe(url: string, path: string): Promise<number> {
  const { status } = await fetch(url + path, { keepalive: false, signal: AbortSignal.timeout(HANG_MS) })
  return status
}

async function untilTaken(running: RunningHookline): Promise<void> {
  for (;;) {
    try {
      const answer = await fetch(running.urls["webhooks"]!, { method: "POST", body: "{}", keepalive: false })
      if (answer.status === 200) return
    } catch {
      await Bun.sleep(20)
    }
  }
}

test("more connections than there are descriptors for leave /healthz and the processor free, and events are accepted after them", async () => {
  using folder = temporaryFolder()
  await using running = await startService({ folder: folder.path, ...ON_LOG, descriptors: 256 })
  {
    using _ = openMany(portOf(running), 1000)
    const line = await running.logged(({ msg }) => msg.startsWith("connection limit reached"))
    expect(line.level).toBe("warn")
    expect(line["connections"] as number).toBeGreaterThanOrEqual(line["max_connections"] as number)
    const beforeMs = cpuMicroseconds(running.pid) / 1000
    const startedMs = performance.now()
    for (let n = 0; n < 50; n++) expect(await probe(running.adminUrl!, "/healthz")).toBe(200)
    expect(await probe(running.adminUrl!, "/readyz")).toBe(503)
    await Bun.sleep(1000)
    expect(cpuMicroseconds(running.pid) / 1000 - beforeMs).toBeLessThan((performance.now() - startedMs) / 2)
  }
  await running.logged(({ msg }) => msg === "accepting connections again")
  await untilTaken(running)
  expect(await probe(running.adminUrl!, "/readyz")).toBe(200)
  expect(await running.stop()).toBe(0)
})

test("max_connections stops accepting; what is under way is answered", async () => {
  using folder = temporaryFolder()
  await using running = await startService({
    folder: folder.path,
    ...ON_LOG,
    service: "max_connections = 50",
  })
  await untilTaken(running)
  const descriptors = (): number => readdirSync(`/proc/${running.pid}/fd`).length
  const before = descriptors()
  using begun = await openSocket(portOf(running))
  begun.send(`${post("Content-Length: 2")}{`)
  {
    using _ = openMany(portOf(running), 60)
    await running.logged(({ msg }) => msg.startsWith("connection limit reached"))
    const refused = await openSocket(portOf(running)).then(
      () => "connected",
      () => "refused",
    )
    expect(refused).toBe("refused")
    begun.send("}")
    expect(await begun.ended).toStartWith("HTTP/1.1 200 ")
    expect(descriptors()).toBeLessThan(before + 75)
  }
  await untilTaken(running)
  // who comes and goes is not limited by it
  for (let n = 0; n < 100; n++) await untilTaken(running)
  expect(running.log.filter(({ msg }) => msg.startsWith("connection limit reached"))).toHaveLength(1)
  expect(await running.stop()).toBe(0)
})

test("max_connections = 0 is a configuration error", async () => {
  using folder = temporaryFolder()
  const file = `${folder.path}/pipelines.conf`
  await Bun.write(file, configurationOf({ ...ON_LOG, service: "max_connections = 0" }))
  expect(problemsIn(file)).toContain("max_connections")
})
