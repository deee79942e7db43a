import { describe, expect, test } from "bun:test"
import { readdirSync } from "node:fs"
import { GITHUB_SECRET, GitHubHook } from "../support/github-hook.ts"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { freePort } from "../support/ports.ts"
import { childrenOf, metricOf, sum } from "../support/worker-processes.ts"
import { workersConf } from "../support/workers-configuration.ts"

const SILENT = "no event has come for longer than expect_every"
const COME = "events come again"

const kafka = await kafkaForTests()

describe.skipIf(kafka === undefined || !hasKcat())("with two workers", () => {
  const start = async (folder: string, hook: GitHubHook, topic: string, more: string, source = "") => {
    await createTopic(kafka!, topic)
    const text = workersConf({
      port: Number(new URL(hook.url).port),
      topic,
      connection: `bootstrap_servers = ${kafka!.bootstrapServers}`,
      source: `path = /hooks\n${source}`,
      more: `[pipeline:webhooks:Verifier]\nprovider = github\nsecret = ${GITHUB_SECRET}\n${more}`,
    })
    return startHookline(text, { folder })
  }
  const hookAt = async (): Promise<GitHubHook> => {
    const hook = new GitHubHook(`http://127.0.0.1:${await freePort()}/hooks`)
    hook.deliveredAgoMs = 300_000
    return hook
  }
  /** Kills a worker. Resolves once another one has taken its place. */
  const killWorker = async (service: RunningHookline): Promise<void> => {
    const before = service.log.length
    process.kill(childrenOf(service.pid)[0]!, "SIGKILL")
    await service.logged((line) => line.msg === "worker restarted" && service.log.indexOf(line) >= before)
  }

  test("the supervisor has each missed event delivered again once, also while a worker is killed", async () => {
    using folder = temporaryFolder()
    const topic = freshTopic()
    await using hook = await hookAt()
    for (const guid of ["1", "2"]) await hook.send(guid)
    await using service = await start(folder.path, hook, topic, `${hook.section("webhooks")}\nevery = 1s`)
    await service.logged(({ msg, recovered }) => msg === "reconciled" && recovered === 2)
    const { url, listedAfterMs } = hook
    // the endpoint is reachable again before the event may be asked for
    Object.assign(hook, { url: "http://127.0.0.1:1/hooks", listedAfterMs: () => 2000 })
    await hook.send("3")
    Object.assign(hook, { url, listedAfterMs })
    await killWorker(service)
    await service.logged(({ msg, recovered }) => msg === "reconciled" && recovered === 3)
    expect(hook.requests.filter((it) => it.startsWith("POST"))).toHaveLength(3)
    const ledgers = readdirSync(`${folder.path}/hookline-data`).filter((it) => it.endsWith(".sqlite"))
    expect(ledgers).toEqual(["reconcile-github.sqlite"])
    const records = await readWithKcat(kafka!, topic)
    const events = records.map(({ value }) => (JSON.parse(value.toString()) as { k: string }).k)
    expect(events.toSorted()).toEqual(["1", "2", "3"])
  })

  test("silence is logged once for all workers, and a restarted worker does not count as an event", async () => {
    using folder = temporaryFolder()
    await using hook = await hookAt()
    await using service = await start(folder.path, hook, freshTopic(), "", "expect_every = 1s")
    const lines = (text: string): number => service.log.filter(({ msg }) => msg === text).length
    await service.logged(({ msg }) => msg === SILENT)
    for (const guid of ["1", "2", "3", "4"]) expect(await hook.send(guid)).toBe(200)
    await service.logged(({ msg }) => msg === COME)
    await service.logged((line) => line.msg === SILENT && lines(SILENT) === 2)
    const silentS = async (): Promise<number> =>
      sum((await metricOf(service, "hookline_pipeline_silence_seconds")).values())
    const beforeS = await silentS()
    await killWorker(service)
    for (let nowS = 0; nowS < beforeS + 2; nowS = await silentS()) {
      expect(lines(COME)).toBe(1)
      await Bun.sleep(50)
    }
    expect(await hook.send("5")).toBe(200)
    await service.logged(({ msg }) => msg === COME && lines(COME) === 2)
    expect(lines(SILENT)).toBe(2)
  })
})
