import { expect, test } from "bun:test"
import { DISGUISES, serveAt, statusOf } from "../support/disguised-paths.ts"
import { freePort } from "../support/ports.ts"
import { hasProxy, PROXIES, startProxy } from "../support/proxies.ts"

for (const kind of PROXIES) {
  test.skipIf(!hasProxy(kind))(
    `behind ${kind.program} with "${kind.rule}" nobody publishes to /private`,
    async () => {
      await using it = serveAt(await freePort(), ["/private", "/hooks/*", "/*"])
      await using proxy = await startProxy(kind, it.port)
      expect(await statusOf(proxy.port, "/private")).toBe(403)
      expect(await statusOf(proxy.port, "/private?a")).toBe(403)
      expect(await statusOf(proxy.port, "http://other/private", ["Host: other"])).toBe(403)
      expect(await statusOf(proxy.port, "/hooks/a")).toBe(200)
      for (const target of DISGUISES) await statusOf(proxy.port, target)
      expect(it.taken.filter(({ route, path }) => route === "/private" || path === "/private")).toEqual([])
      // whom the proxy does not stand before
      expect(await statusOf(it.port, "/private")).toBe(200)
    },
  )
}
