import { expect, test } from "bun:test"
import * as fc from "fast-check"
import { inSlices } from "../../clock/slices.ts"
import { conflictOf, conflictsIn, lookedUp, type PlannedAddress } from "./addresses.ts"

const address = fc
  .record({
    port: fc.constantFrom(80, 81),
    host: fc.constantFrom("127.0.0.1", "localhost", "127.0.0.2", "0.0.0.0", "::"),
    path: fc.constantFrom(undefined, "/a", "/ä", "/%C3%A4"),
    tls_certificate: fc.constantFrom(undefined, "x.pem", "y.pem"),
    tls_client_ca: fc.constantFrom(undefined, "x.pem"),
    key: fc.constantFrom(undefined, undefined, undefined, "kafka_listen"),
  })
  .map(({ key, ...values }): PlannedAddress => ({
    host: values.host,
    port: values.port,
    title: () => "",
    owner: { values } as unknown as PlannedAddress["owner"],
    ...(key !== undefined && { key }),
  }))

const EVERY = ["0.0.0.0", "::"]
const named = (host: string): string => (host === "localhost" ? "127.0.0.1" : host)

/** The key that two addresses can't agree on. */
function keyOf(a: PlannedAddress, b: PlannedAddress): string | undefined {
  const [x, y] = [a.owner.values, b.owner.values]
  const isSameHost = named(a.host) === named(b.host)
  if (a.port !== b.port || (!isSameHost && ![a.host, b.host].some((host) => EVERY.includes(host))))
    return undefined
  if (a.key !== undefined || b.key !== undefined) return b.key ?? "port"
  if (
    x["path"] !== undefined &&
    encodeURI(decodeURI(String(x["path"]))) === encodeURI(decodeURI(String(y["path"])))
  )
    return "path"
  if (!isSameHost) return "host"
  return ["tls_certificate", "tls_client_ca"].find((key) => x[key] !== y[key])
}

test("an address conflicts with the first earlier one that comparing each finds, by the same key", () => {
  fc.assert(
    fc.property(fc.array(address, { maxLength: 12 }), (addresses) => {
      for (const [at, [other, one]] of [...conflictsIn(addresses)].entries()) {
        expect(one).toBe(addresses[at]!)
        const first = addresses.slice(0, at).find((before) => keyOf(before, one) !== undefined)
        expect(other).toBe(first!)
        if (first !== undefined) expect(conflictOf(first, one)?.key).toBe(keyOf(first, one)!)
      }
    }),
    { numRuns: 5000 },
  )
})

test("names of hosts to listen on are looked up off the event loop, each once, and for some seconds at most", async () => {
  const asked: string[] = []
  const find = async (name: string): Promise<unknown> => {
    asked.push(name)
    if (name === "unknown.test") throw new Error("not found")
    return name === "silent.test" ? new Promise(() => {}) : undefined
  }
  await inSlices(lookedUp(["127.0.0.1", "::1", "localhost", "localhost", "unknown.test"], find))
  expect(asked).toEqual(["localhost", "unknown.test"])
  await expect(inSlices(lookedUp(["silent.test"], find, 20))).rejects.toThrow(
    "can't listen on silent.test: no name server has answered for 0.02 s; name an address",
  )
})
