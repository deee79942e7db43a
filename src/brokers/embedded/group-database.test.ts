import { afterEach, expect, setSystemTime, test } from "bun:test"
import { temporaryFolder } from "../../../test/support/hookline.ts"
import { passTime } from "../../../test/support/kept-clock.ts"
import { Groups } from "../../kafka-listener/groups/groups.ts"
import { GroupDatabase, groupsIn } from "./group-database.ts"

test("the groups of another log are not loaded, and are deleted from the file", async () => {
  using folder = temporaryFolder()
  const database = new GroupDatabase(groupsIn(folder.path))
  const reopened = (clusterId: string): Groups => {
    const groups: Groups = new Groups({
      write(changes) {
        database.write(changes)
        queueMicrotask(() => groups.written(true))
      },
      expired: (ids) => expect(ids).toEqual([]),
    })
    groups.load(database.state(), {
      clusterId,
      lastCommittable: () => ({ offset: Infinity, leaderEpoch: 0 }),
    })
    return groups
  }
  const committed = { offset: 1, leaderEpoch: 0, metadata: "" }
  const groups = reopened("one")
  groups.findOrMake("g")
  await groups.commit([["g", "t", 0, committed]])
  expect(reopened("one").offset("g", "t", 0)).toEqual(committed)
  expect(reopened("one").find("g")).toBeDefined()

  const others = reopened("other")
  expect(others.offset("g", "t", 0)).toBeUndefined()
  expect([...others.all()]).toEqual([])
  expect(database.state()).toMatchObject({ clusterId: "other", groups: [], offsets: [] })
  await others.commit([["g", "t", 0, committed]])
  expect(reopened("other").offset("g", "t", 0)).toBeDefined()
  database.close()
})

afterEach(() => setSystemTime())

test("a system clock that is 8 days ahead deletes no group, neither while it runs nor after a start", async () => {
  using folder = temporaryFolder()
  const expired: string[] = []
  const opened = (): { groups: Groups; database: GroupDatabase } => {
    const database = new GroupDatabase(groupsIn(folder.path))
    const groups: Groups = new Groups({
      write(changes) {
        database.write(changes)
        queueMicrotask(() => groups.written(true))
      },
      expired: (ids) => expired.push(...ids),
    })
    groups.load(database.state(), {
      clusterId: "one",
      lastCommittable: () => ({ offset: Infinity, leaderEpoch: 0 }),
    })
    return { groups, database }
  }
  const first = opened()
  first.groups.findOrMake("g")
  await first.groups.commit([["g", "t", 0, { offset: 1, leaderEpoch: 0, metadata: "" }]])
  setSystemTime(Date.now() + 8 * 86_400_000)
  await first.groups.expire()
  first.database.close()
  const second = opened()
  await second.groups.expire()
  expect(second.groups.offset("g", "t", 0)).toBeDefined()
  second.database.close()
  setSystemTime()
  passTime(groupsIn(folder.path).file, 8 * 86_400_000)
  const third = opened()
  await third.groups.expire()
  expect(third.groups.find("g")).toBeUndefined()
  third.database.close()
  expect(expired).toEqual(["g"])
})
