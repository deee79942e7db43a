import { expect, spyOn, test } from "bun:test"
import { freePort } from "../../test/support/ports.ts"
import { Listener } from "./listener.ts"
import { PathTable, type RequestHandlers } from "./routes.ts"

const answer = (): Response => new Response("own")
const HANDLERS: RequestHandlers = {
  endpoints: new PathTable(),
  unknownPath: answer,
  notNormal: answer,
  failed() {},
}

const listen = (port: number, isShared: boolean, host = "127.0.0.1"): Listener =>
  new Listener({ host, port }, undefined, HANDLERS, { isShared })

test.skipIf(process.platform !== "linux")("a port that nobody listens on is opened once", async () => {
  const port = await freePort()
  using opening = spyOn(Bun, "serve")
  const listener = listen(port, false)
  expect(opening).toHaveBeenCalledTimes(1)
  await listener.stop(true)
})

test.each([
  ["alone", "127.0.0.1", false],
  ["and would share it", "127.0.0.1", true],
  ["on all addresses", "0.0.0.0", false],
  ["on all addresses, and would share it", "0.0.0.0", true],
  ["on all addresses of both protocols, and would share it", "::", true],
])(
  "a port that another listens on %s is in use, unless it is meant to be shared",
  async (_what, hostname, reusePort) => {
    using other = Bun.serve({ hostname, port: 0, reusePort, fetch: () => new Response("other") })
    const port = other.port!
    expect(() => listen(port, false)).toThrow(`can't listen on 127.0.0.1:${port}: the port is in use`)
    if (reusePort) await listen(port, true).stop(true)
  },
)

test("a port that another listens on at another address is free", async () => {
  using other = Bun.serve({
    hostname: "127.0.0.2",
    port: 0,
    reusePort: true,
    fetch: () => new Response("other"),
  })
  await listen(other.port!, false).stop(true)
})
