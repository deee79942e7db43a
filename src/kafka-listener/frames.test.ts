import { expect, test } from "bun:test"
import { Frames } from "./frames.ts"

const frameOf = (content: string): Buffer => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(content.length)
  return Buffer.concat([length, Buffer.from(content)])
}

test("frames are cut whatever pieces they come in", () => {
  const contents = ["a", "", "b".repeat(3000), "c"]
  const bytes = Buffer.concat(contents.map(frameOf))
  for (const size of [1, 2, 3, 7, 1000, bytes.length]) {
    const frames = new Frames(10_000)
    const cut: Buffer[] = []
    for (let at = 0; at < bytes.length; at += size) {
      frames.add(bytes.subarray(at, at + size))
      for (let frame = frames.next(); frame !== undefined; frame = frames.next()) cut.push(frame as Buffer)
    }
    expect(cut.map(String)).toEqual(contents)
    expect(frames.length).toBe(0)
  }
})

test.each([[101], [-1]])("a frame of %d bytes is refused where 100 are the limit", (length) => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(length)
  const frames = new Frames(100)
  frames.add(bytes)
  expect(frames.next()).toBe("too_large")
})
