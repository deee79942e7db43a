import { expect, test } from "bun:test"
import * as fc from "fast-check"
import { packHeaders, unpackHeaders } from "./packed-headers.ts"

test("headers come back as they were, in their order, names repeated or empty", () => {
  const name = fc.string({ unit: "grapheme", maxLength: 20 })
  const header = fc.tuple(name, fc.uint8Array({ maxLength: 40 }))
  fc.assert(
    fc.property(fc.array(header, { maxLength: 8 }), (headers) => {
      expect(unpackHeaders(packHeaders(headers))).toEqual(headers)
    }),
  )
})
