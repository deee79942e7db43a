import { expect, test } from "bun:test"
import { isListenedOn } from "./listening-ports.ts"

test.skipIf(process.platform !== "linux").each(["127.0.0.1", "0.0.0.0", "::1", "::"])(
  "a port that a program listens on at %s is known, and no longer when that has ended",
  (hostname) => {
    const listener = Bun.listen({ hostname, port: 0, socket: { data() {} } })
    const { port } = listener
    expect(isListenedOn(port)).toBe(true)
    listener.stop(true)
    expect(isListenedOn(port)).toBe(false)
  },
)

test.skipIf(process.platform !== "linux")(
  "a port that is only connected from is not listened on",
  async () => {
    using listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } })
    const socket = await Bun.connect({ hostname: "127.0.0.1", port: listener.port, socket: { data() {} } })
    expect(isListenedOn(socket.localPort)).toBe(false)
    socket.end()
  },
)
