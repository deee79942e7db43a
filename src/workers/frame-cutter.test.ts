import { expect, test } from "bun:test"
import * as fc from "fast-check"
import { FrameCutter } from "./frame-cutter.ts"
import { newFrame } from "./wire.ts"

test("frames come whole and in order, however they are cut on the way", () => {
  const contents = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 })
  const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(contents, cuts, (all, lengths) => {
      const frames = all.map((content, at) => {
        const frame = newFrame(at, content.length)
        frame.set(content, 5)
        return frame
      })
      const came: Buffer[] = []
      const cutter = new FrameCutter((frame) => came.push(frame))
      const bytes = Buffer.concat(frames)
      for (let at = 0, n = 0; at < bytes.length; n++) {
        const length = lengths[n % lengths.length]!
        cutter.add(Buffer.from(bytes.subarray(at, at + length)))
        at += length
      }
      expect(came).toEqual(frames)
    }),
  )
})
