import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { steadyMs } from "../../src/clock/clock.ts"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { freePort } from "../support/ports.ts"
import { hasRedis, startRedis, type OwnRedis } from "../support/redis.ts"

const REPLICAS = 3
const BURST = 10

const configuration = (url: string, limit: string): string => `
[service]
redis = ${url}
[connection:log]
directory = log
[pipeline:hooks:WebHookSource]
${limit}
[pipeline:hooks:BrokerSink]
topic = hooks
`

interface Found {
  accepted: number
  refused: number
}

const post = async (replica: RunningHookline): Promise<Response> =>
  fetch(replica.urls["hooks"]!, { method: "POST", body: "{}" })

async function postAndCount(replica: RunningHookline, found: Found): Promise<void> {
  const { status, headers } = await post(replica)
  if (status === 200) {
    found.accepted++
    return
  }
  expect([status, Number(headers.get("Retry-After")) > 0]).toEqual([429, true])
  found.refused++
}

/** Posts to a replica at a rate, for a time. */
async function load(replica: RunningHookline, perSecond: number, ms: number): Promise<Found> {
  const found = { accepted: 0, refused: 0 }
  const startedMs = steadyMs()
  const posted: Promise<void>[] = []
  for (let n = 0; steadyMs() - startedMs < ms;) {
    const due = ((steadyMs() - startedMs) * perSecond) / 1000
    for (; n < due; n++) posted.push(postAndCount(replica, found))
    await Bun.sleep(5)
  }
  await Promise.all(posted)
  return found
}

/** The sum of what these replicas answer to so many events a second each, and how long that took. */
async function loadAll(replicas: readonly RunningHookline[], rates: readonly number[], ms: number) {
  const startedMs = steadyMs()
  const each = await Promise.all(rates.map((rate, at) => load(replicas[at]!, rate, ms)))
  const seconds = (steadyMs() - startedMs) / 1000
  const sum = (of: keyof Found): number => each.reduce((all, it) => all + it[of], 0)
  return { each, seconds, accepted: sum("accepted"), refused: sum("refused") }
}

/** Starts replicas, and waits until each knows the others. */
async function startReplicas(redis: OwnRedis, limit: string, folder: string) {
  const running = await Promise.all(
    Array.from({ length: REPLICAS }, (_, at) =>
      startHookline(configuration(redis.url, limit), { folder: join(folder, `${at}`) }),
    ),
  )
  const isKnown = async (): Promise<boolean> => (await redis.send("ZCARD", "hookline:processes")) === REPLICAS
  await until("all replicas have reported", isKnown)
  // each counts them once a second
  await Bun.sleep(1500)
  return {
    running,
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((it) => it.stop()))
    },
  }
}

/** How often its scripts were called. */
async function callsOf(redis: OwnRedis): Promise<number> {
  const commands = (await redis.send("INFO", "commandstats")) as string
  return Number(/cmdstat_eval:calls=(\d+)/.exec(commands)![1])
}

const print = (what: string, { each, seconds, accepted }: Awaited<ReturnType<typeof loadAll>>): void =>
  console.log(
    `${what}: ${(accepted / seconds).toFixed(1)}/s over ${seconds.toFixed(1)} s, by replica ${each.map((it) => it.accepted).join(" + ")}`,
  )

describe.skipIf(!hasRedis())("a rate_limit that three replicas share in a Redis", () => {
  test("is used by their sum, and passed by 5 % at most, evenly loaded or not; with Redis gone each has a third, logged once", async () => {
    using folder = temporaryFolder()
    await using redis = await startRedis()
    const limit = 90
    await using replicas = await startReplicas(
      redis,
      `rate_limit = ${limit}\nrate_burst = ${BURST}`,
      folder.path,
    )
    const { running } = replicas
    for (const rates of [
      [60, 60, 60],
      [150, 20, 5],
    ]) {
      const found = await loadAll(running, rates, 6000)
      print(`limit ${limit}, load ${rates.join(" + ")}`, found)
      expect(found.accepted).toBeLessThan(1.05 * (limit * found.seconds + BURST))
      // on a busy machine permits expire before an event comes for them
      const third = (limit / REPLICAS) * found.seconds + BURST
      if (rates[0]! > limit) expect(found.each[0]!.accepted).toBeGreaterThan(third)
    }
    console.log(`${await callsOf(redis)} calls of Redis`)

    await redis.kill()
    await loadAll(running, [60, 60, 60], 2000)
    const gone = await loadAll(running, [60, 60, 60], 4000)
    print(`limit ${limit}, Redis gone`, gone)
    for (const { accepted } of gone.each)
      expect(accepted).toBeWithin(BURST, 1.1 * (limit / REPLICAS) * gone.seconds + 1)
    await redis.start()
    await Promise.all(running.map((it) => it.logged(({ msg }) => msg === "rate limits are shared again")))
    for (const { log } of running)
      expect(log.filter(({ msg }) => msg.startsWith("rate limits are not shared"))).toMatchObject([
        { level: "error", processes: REPLICAS },
      ])
  })

  test("refuses no event below it, and rarely has one wait for Redis: a call brings the permits of many", async () => {
    using folder = temporaryFolder()
    await using redis = await startRedis()
    // a busy machine may send what is due of some seconds at once
    await using replicas = await startReplicas(redis, "rate_limit = 6000", folder.path)
    await redis.send("CONFIG", "RESETSTAT")
    const found = await loadAll(replicas.running, [150, 150, 150], 4000)
    print("limit 6000, load 450", found)
    expect(found.refused).toBe(0)
    const calls = await callsOf(redis)
    console.log(`${calls} calls of Redis for ${found.accepted} events`)
    expect(calls).toBeLessThan(found.accepted / 4)
  })

  test("an event is answered while Redis does not answer", async () => {
    using folder = temporaryFolder()
    await using redis = await startRedis()
    await using replicas = await startReplicas(redis, "rate_limit = 600", folder.path)
    const [replica] = replicas.running
    redis.pause()
    try {
      expect((await post(replica!)).status).toBe(200)
    } finally {
      redis.resume()
    }
  })

  test("a user that may not run a command of theirs is named in the log, and each replica has its share", async () => {
    using folder = temporaryFolder()
    const permissions = "+@all -hmget"
    await using redis = await startRedis({
      args: ["--user", ..."hookline on >obviously-fake ~*".split(" "), ...permissions.split(" ")],
    })
    const url = redis.url.replace("://", "://hookline:obviously-fake@")
    await using running = await startHookline(configuration(url, "rate_limit = 90"), { folder: folder.path })
    const { msg } = await running.logged(
      ({ level, msg }) => level === "error" && msg.startsWith("rate limits"),
    )
    expect(msg).toMatch(
      /^rate limits are not shared: redis:\S+ can't be used: .*; each process has its share/,
    )
  })

  test("holds for the sum of replicas that start without Redis, by [admin] replicas", async () => {
    using folder = temporaryFolder()
    const ports = await Promise.all([freePort(), freePort(), freePort()])
    const places = ports.map((port) => `127.0.0.1:${port}`)
    const start = (listen: string, listed: readonly string[], name: string) =>
      startHookline(
        `${configuration("redis://127.0.0.1:9", "rate_limit = 90")}
[admin]
listen = ${listen}
replicas = ${listed.join(", ")}
replicas_token = obviously-fake-token-of-replicas`,
        { folder: join(folder.path, name) },
      )
    // the last one lists only the others
    const running = await Promise.all(
      places.map((place, at) => start(place, at === 2 ? places.slice(0, 2) : places, `${at}`)),
    )
    const lines = await Promise.all(
      running.map((it) => it.logged(({ msg }) => msg.startsWith("rate limits are not shared"))),
    )
    expect(lines.map(({ processes }) => processes)).toEqual([3, 3, 3])
    const found = await loadAll(running, [400, 400, 400], 2000)
    print("limit 90, no Redis since the start", found)
    expect(found.refused).toBeGreaterThan(0)
    // a full bucket, by default the events of a second, each with its third
    expect(found.accepted).toBeLessThanOrEqual(90 + 90 * found.seconds + REPLICAS)
    await Promise.all(running.map((it) => it.stop()))
  })
})
