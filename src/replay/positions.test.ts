import { expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "../../test/support/hookline.ts"
import type { ForwardAbout } from "./forward.ts"
import { GroupPositions } from "./group-positions.ts"
import { positionsInMemory } from "./position-tables.ts"
import { positionFile, Positions } from "./positions.ts"

test("a position whose file was removed under it is not saved, and says so", () => {
  using folder = temporaryFolder()
  const location = positionFile(join(folder.path, "state"), "forward", "a")
  const store = Positions.advance<{ from: string }>(location)
  const position = { next: new Map([[0, 5]]), replayed: 0, failed: 0 }
  store.begin({ from: "x" }, position)
  rmSync(location.file)
  expect(() => store.save(position)).toThrow(/a\.sqlite was removed or renamed while Hookline had it open/)
  store.close()
})

test("a group that begins a topic created again does not continue from the former one's offsets, even if it restarts before anything is saved", async () => {
  const about: ForwardAbout = { connection: "kafka", topic: "t" }
  const committed = new Map<number, number>([[0, 500]])
  const file = positionsInMemory<ForwardAbout>()
  const { signal: ended } = new AbortController()
  const group = {
    assigned: async () => ({ next: new Map([0, 1].map((it) => [it, committed.get(it)])), ended }),
    commit: async (next: ReadonlyMap<number, number>) => next.forEach((at, it) => committed.set(it, at)),
    isPaused: async () => false,
    close: async () => {},
  }
  const open = async () => new GroupPositions(file, group, about, (await group.assigned()).next)
  file.begin({ ...about, topicId: "former" }, { next: new Map([[0, 500]]), replayed: 500, failed: 0 })
  const store = await open()
  await store.begin({ ...about, topicId: "new" }, { next: new Map(), replayed: 0, failed: 0 })
  expect((await (await open()).read())!.position.next).toEqual(new Map([[0, 0]]))
})
