import { expect, test } from "bun:test"
import type { Overview } from "../../src/admin/api/overview-shape.ts"
import type { PipelineOverview } from "../../src/admin/api/shapes.ts"
import { AdminApi } from "../support/admin-api.ts"
import { freePort } from "../support/ports.ts"
import { connectionsWith, pipelineTo } from "../support/troubled.ts"

// What the overview says of each pipeline and of the service as a whole.

const configuration = (admin: number, unreachable: number): string => `${connectionsWith(unreachable)}
${["good", "picky", "unused"].map((id) => pipelineTo(id)).join("")}
${pipelineTo("quiet", "log", "expect_every = 1s")}${pipelineTo("down", "kafka")}${pipelineTo("spooled", "kept")}
[admin]
listen = 127.0.0.1:${admin}
`

const stateOf = ({ pipelines }: Overview, id: string): PipelineOverview["state"] =>
  pipelines.find((it) => it.id === id)!.state

test("each pipeline has a state with its cause, and the totals are sums over pipelines and spools", async () => {
  await using api = await AdminApi.start(configuration(await freePort(), await freePort()))
  for (let n = 0; n < 6; n++) expect(await api.send("good", {}, `{"n":${n}}`)).toBe(200)
  expect(await api.send("spooled", {}, `{"n":1}`)).toBe(200)
  expect(await api.send("picky", {}, `{"n":1}`)).toBe(200)
  for (let n = 0; n < 3; n++) expect(await api.send("picky", {}, "[]")).toBe(400)
  let overview: Overview
  do overview = await api.get<Overview>("overview")
  while (
    stateOf(overview, "picky").name !== "refusing" ||
    stateOf(overview, "quiet").name !== "silent" ||
    stateOf(overview, "down").since === null ||
    overview.totals.unsent === 0
  )
  expect(stateOf(overview, "good")).toEqual({ name: "receiving", words: null, since: null })
  expect(stateOf(overview, "spooled")).toEqual({ name: "receiving", words: null, since: null })
  expect(stateOf(overview, "unused")).toEqual({ name: "idle", words: null, since: null })
  expect(stateOf(overview, "picky")).toMatchObject({ words: "the body is JSON, but not an object" })
  expect(stateOf(overview, "quiet")).toMatchObject({ words: "an event is expected every 1 s" })
  expect(stateOf(overview, "quiet").since).toBeLessThan(overview.now - 999)
  const down = stateOf(overview, "down")
  expect(down).toMatchObject({ name: "down", words: expect.stringContaining("connection kafka: ") })
  expect(down.since).toBe(overview.connections.find(({ id }) => id === "kafka")!.problem_since)

  const { totals, pipelines } = overview
  const sum = (of: "events_per_second" | "refused_per_second"): number =>
    pipelines.reduce((all, it) => all + it[of], 0)
  expect(totals.events_per_second / sum("events_per_second")).toBeCloseTo(1, 1)
  expect(totals.refused_per_second / sum("refused_per_second")).toBeCloseTo(1, 1)
  expect(totals).toMatchObject({ unsent: 1, dropped_per_second: 0, step_ms: 5000 })
  expect(totals.oldest_unsent_at).toBeGreaterThan(overview.started_at)
  expect(totals.p99_ms).toBeGreaterThan(0)
  expect(totals.disk_used).toBeGreaterThan(0)
  expect(totals.disk_used).toBeLessThanOrEqual(1)
  for (const series of [totals.accepted, totals.dropped, totals.refused]) {
    expect(series).toHaveLength(180)
    // the service has just been started
    expect(series[0]).toBeNull()
  }
})
