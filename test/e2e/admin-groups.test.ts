import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import type { ConsumerGroups } from "../../src/admin/api/shapes.ts"
import { hookline, startHookline, temporaryFolder } from "../support/hookline.ts"
import { joinWithKcat, kafkaAddressOf, readableLog } from "../support/kafka-clients.ts"
import { until } from "../support/kafka-options.ts"
import { hasKcat } from "../support/kcat.ts"

describe.skipIf(!hasKcat())("consumer groups of an embedded log", () => {
  test("have their position, lag, members and state; those that are behind come first", async () => {
    using folder = temporaryFolder()
    await using running = await startHookline(readableLog(), { folder: folder.path })
    const groups = async (): Promise<ConsumerGroups> => {
      const response = await fetch(`${running.adminUrl}/api/groups`)
      expect(response.status).toBe(200)
      return (await response.json()) as ConsumerGroups
    }
    const post = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) {
        const { status } = await fetch(running.urls["webhooks"]!, { method: "POST", body: `{"id":"${n}"}` })
        expect(status).toBe(200)
      }
    }
    const shown = async () => (await groups()).groups.map((it) => [it.group, it.lag, it.state, it.members])
    expect(await groups()).toEqual({ groups: [], left_out: 0, problems: [] })
    const address = await kafkaAddressOf(running)
    await post(3)
    const settings = { "auto.commit.interval.ms": "100" }
    await using _ = joinWithKcat(address, "billing", "webhooks", settings)
    {
      await using search = joinWithKcat(address, "search", "webhooks", settings)
      await until("both groups have committed", async () =>
        Bun.deepEquals(await shown(), [
          ["billing", 0, "Stable", 1],
          ["search", 0, "Stable", 1],
        ]),
      )
      await search.end("SIGTERM")
    }
    await post(2)
    await until("one has read on", async () =>
      Bun.deepEquals(await shown(), [
        ["search", 2, "Empty", 0],
        ["billing", 0, "Stable", 1],
      ]),
    )
    // the running file has a port that the system chose
    await Bun.write(join(folder.path, "asked.conf"), `[admin]\nlisten = ${new URL(running.adminUrl!).host}\n`)
    const printed = await hookline(["groups", "-c", "asked.conf"], { cwd: folder.path })
    expect([printed.status, printed.stderr]).toEqual([0, ""])
    expect(printed.stdout.trim().split("\n").slice(1)).toEqual([
      expect.stringMatching(/^search +log\/webhooks +2 +0 +Empty$/),
      expect.stringMatching(/^billing +log\/webhooks +0 +1 +Stable$/),
    ])
    const json = await hookline(["groups", "--json", "-c", "asked.conf"], { cwd: folder.path })
    expect(JSON.parse(json.stdout)).toEqual(await groups())
    expect((await groups()).groups[0]).toEqual({
      connection: "log",
      group: "search",
      topic: "webhooks",
      lag: 2,
      state: "Empty",
      members: 0,
      positions: [{ partition: 0, next: 3, end: 5 }],
    })
  })
})
