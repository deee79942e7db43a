import { expect, test } from "bun:test"
import { temporaryFolder } from "../../../test/support/hookline.ts"
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
  expect(database.state()).toEqual({ clusterId: "other", groups: [], offsets: [] })
  await others.commit([["g", "t", 0, committed]])
  expect(reopened("other").offset("g", "t", 0)).toBeDefined()
  database.close()
})
