import { expect, test } from "bun:test"
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { namesIn, positionFile, Positions } from "./positions.ts"

const failure = { partition: 1, offset: 7, timestampMs: 1000, reason: "400: no" }

test("a position that was saved is read again, and nothing of it once it is removed", () => {
  using folder = temporaryFolder()
  const location = positionFile(join(folder.path, "state"), "replay", "a")
  const store = Positions.advance<{ from: string }>(location)
  expect(store.read()).toBeUndefined()
  store.begin({ from: "x" }, { next: new Map([[0, 5]]), replayed: 0, failed: 0 })
  store.save(
    {
      next: new Map([
        [0, 6],
        [1, 8],
      ]),
      replayed: 2,
      failed: 1,
    },
    [failure],
  )
  store.close()
  const again = Positions.advance<{ from: string }>(location)
  expect(again.read()).toEqual({
    about: { from: "x" },
    position: {
      next: new Map([
        [0, 6],
        [1, 8],
      ]),
      replayed: 2,
      failed: 1,
    },
  })
  expect(namesIn(join(folder.path, "state"), "replay")).toEqual(["a"])
  expect(statSync(location.file).mode & 0o777).toBe(0o600)
  again.begin({ from: "y" }, { next: new Map(), replayed: 0, failed: 0 })
  expect(again.read()).toEqual({
    about: { from: "y" },
    position: { next: new Map(), replayed: 0, failed: 0 },
  })
  again.remove()
  expect(readdirSync(join(folder.path, "state/replays"))).toEqual([])
})

test("failures are read, and settled, while the position advances", () => {
  using folder = temporaryFolder()
  const location = positionFile(folder.path, "forward", "a")
  const store = Positions.advance(location)
  store.begin({}, { next: new Map(), replayed: 0, failed: 0 })
  store.save({ next: new Map([[1, 9]]), replayed: 0, failed: 2 }, [failure, { ...failure, offset: 8 }])
  using reader = Positions.open(location)
  expect(reader.failures()).toMatchObject([failure, { ...failure, offset: 8 }])
  const [first, second] = reader.failures()
  reader.settle(first!, undefined)
  reader.settle(second!, "404")
  store.save({ next: new Map([[1, 10]]), replayed: 1, failed: 2 })
  expect(reader.failures()).toMatchObject([{ offset: 8, reason: "404" }])
  expect(reader.countFailures()).toBe(1)
  store.close()
})

test("one process advances a position, and it must be one", () => {
  using folder = temporaryFolder()
  const location = positionFile(folder.path, "forward", "a")
  expect(() => Positions.open(location)).toThrow("The position of forward a is not known")
  const store = Positions.advance(location)
  expect(() => Positions.advance(location)).toThrow(
    `The position of forward a is being written to by process ${process.pid}; stop that one, or name another --name`,
  )
  store.close()
  const other = positionFile(folder.path, "forward", "b")
  writeFileSync(other.file, "text that is no database, and longer than a header of SQLite's would have to be")
  expect(() => Positions.advance(other)).toThrow("is not a Hookline position file; name another --name")
  expect(() => Positions.open(other)).toThrow("is not a Hookline position file")
})

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
