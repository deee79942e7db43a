import { expect, test } from "bun:test"
import * as fc from "fast-check"
import { hostOf, ListenerConflicts, overlap, type ListeningPipeline } from "./listener-conflicts.ts"

const pipeline = fc
  .record({
    port: fc.constantFrom(undefined, 0, 80, 81),
    host: fc.constantFrom("127.0.0.1", "localhost", "127.0.0.2", "0.0.0.0", "::"),
    path: fc.constantFrom(undefined, "/a", "/ä", "/%C3%A4"),
    tls_certificate: fc.constantFrom(undefined, "x.pem", "y.pem"),
    tls_client_ca: fc.constantFrom(undefined, "x.pem"),
  })
  .map((values): ListeningPipeline => ({
    id: "",
    source: {
      values,
      isGiven: () => true,
      where: () => ({ line: 1 }),
    } as unknown as ListeningPipeline["source"],
  }))

/** The key that two sources can't agree on. */
function keyOf({ source: a }: ListeningPipeline, { source: b }: ListeningPipeline): string | undefined {
  const { port, path } = a.values
  if (typeof port !== "number" || port === 0 || port !== b.values.port) return undefined
  if (!overlap(hostOf(a), hostOf(b))) return undefined
  if (
    path !== undefined &&
    encodeURI(decodeURI(String(path))) === encodeURI(decodeURI(String(b.values.path)))
  )
    return "path"
  if (hostOf(a) !== hostOf(b)) return "host"
  return ["tls_certificate", "tls_client_ca"].find((key) => a.values[key] !== b.values[key])
}

test("the first pipeline that another conflicts with is the one that comparing each finds", () => {
  fc.assert(
    fc.property(fc.array(pipeline, { maxLength: 12 }), (pipelines) => {
      const conflicts = new ListenerConflicts()
      for (const [at, one] of pipelines.entries()) {
        const found = conflicts.add(one)
        const first = pipelines.slice(0, at).find((before) => keyOf(before, one) !== undefined)
        expect(found?.other.source).toBe(first?.source as never)
        expect(found?.key).toBe(first && keyOf(first, one))
      }
    }),
    { numRuns: 5000 },
  )
})
