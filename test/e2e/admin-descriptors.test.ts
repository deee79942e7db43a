import { expect, test } from "bun:test"
import { connect, type Socket } from "node:net"
import { startHookline, temporaryFolder } from "../support/hookline.ts"

const CONFIGURATION = `
[connection:log]
directory = log
[pipeline:a:WebHookSource]
[pipeline:a:BrokerSink]
topic = a
`
const DESCRIPTORS = 128

/** The status of the answer to a request over a connection that is open already; NaN: it was closed. */
function statusOver(socket: Socket, path: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const answered = (text = ""): void => resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]))
  socket.once("data", (bytes) => answered(bytes.toString())).once("close", () => answered())
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  return promise
}

/** Leaves a process no descriptor to open, until it is disposed of. */
function useUp(pid: number): Disposable {
  const limit = (soft: number): void => {
    const { exitCode } = Bun.spawnSync(["prlimit", `--pid=${pid}`, `--nofile=${soft}:`])
    expect(exitCode).toBe(0)
  }
  limit(3)
  return { [Symbol.dispose]: () => limit(DESCRIPTORS) }
}

test("the admin API answers while descriptors are used up, the page again afterwards, and SIGTERM ends with status 0", async () => {
  using folder = temporaryFolder()
  await using running = await startHookline(CONFIGURATION, { folder: folder.path, descriptors: DESCRIPTORS })
  const port = Number(new URL(running.adminUrl!).port)
  const early = connect(port, "127.0.0.1")
  expect(await statusOver(early, "/healthz")).toBe(200)
  const paths = ["/api/overview", "/api/pipelines/a"]
  {
    using _ = useUp(running.pid)
    for (const path of paths) expect([path, await statusOver(early, path)]).toEqual([path, 200])
    // in a checkout the page is bundled from its source now, which needs descriptors
    const status = await statusOver(early, "/")
    expect([200, 500]).toContain(status)
    if (status === 500)
      await running.logged(({ msg }) => msg === "unhandled error while answering an admin request")
  }
  early.destroy()
  for (const path of [...paths, "/"])
    expect([path, (await fetch(running.adminUrl + path, { keepalive: false })).status]).toEqual([path, 200])
  expect(await running.stop()).toBe(0)
})
