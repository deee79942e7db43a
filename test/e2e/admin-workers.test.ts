import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import type {
  CaptureDetail,
  CaptureSummary,
  Overview,
  ReasonTally,
  ReplayOverview,
  SendResult,
} from "../../src/admin/api/shapes.ts"
import { AdminApi } from "../support/admin-api.ts"
import { sharedByTests, reload } from "../support/hookline.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { freePort } from "../support/ports.ts"
import { serverSentEvents } from "../support/sse.ts"
import { childrenOf } from "../support/worker-processes.ts"
import { overManyConnections, workersConf } from "../support/workers-configuration.ts"

// Every route that asks the processes, with two workers that publish to Kafka.

const SECRET = "not-a-real-secret-000"
const verifiedWith = (secret: string): string =>
  `[pipeline:webhooks:Verifier]\nprovider = github\nsecret = ${secret}`
const signed = (body: string, secret: string): { readonly [name: string]: string } => ({
  "X-Hub-Signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
})

const kafka = await kafkaForTests()
describe.skipIf(kafka === undefined)("with two workers", () => {
  const topic = freshTopic("admin")
  let port: number
  let adminPort: number
  const configuration = (secret: string): string =>
    workersConf({
      port,
      topic,
      connection: `bootstrap_servers = ${kafka!.bootstrapServers}`,
      more: verifiedWith(secret),
      admin: `127.0.0.1:${adminPort}\ncapture = all\ncapture_max_requests = 400`,
    })
  const it = sharedByTests(async () => {
    await createTopic(kafka!, topic)
    await createTopic(kafka!, `${topic}-copy`)
    port = await freePort()
    adminPort = await freePort()
    return AdminApi.start(configuration(SECRET))
  })

  test("the captures of both are one list, in the order of their answers", async () => {
    const body = '{"action":"opened"}'
    await it.get("captures", { method: "DELETE" })
    expect(await overManyConnections(port, 20, body, signed(body, "of-somebody-else"))).toEqual(
      Array.from({ length: 20 }, () => 401),
    )
    const all = await it.get<CaptureSummary[]>("captures?outcome=rejected")
    expect(all.length).toBe(20)
    expect(new Set(all.map(({ id }) => id)).size).toBe(20)
    const times = all.map(({ at }) => at)
    expect(times).toEqual(times.toSorted((a, b) => b - a))
    const details = await Promise.all(all.map(({ id }) => it.get<CaptureDetail>(`captures/${id}`)))
    for (const { body_base64 } of details) expect(Buffer.from(body_base64!, "base64").toString()).toBe(body)
    const ids = all.map(({ request_id }) => request_id)
    const workers = new Set(
      it.running.log
        .filter((line) => ids.includes(line["request_id"] as string))
        .map((line) => line["worker"]),
    )
    expect(workers).toEqual(new Set([1, 2]))
    expect((await it.get<Overview>("overview")).refused).toBe(20)
    const [counted] = await it.get<ReasonTally[]>("reasons")
    expect(counted).toMatchObject({ reason: "unverified_no_match", count: 20, last_at: all[0]!.at })
    expect(counted!.first_at).toBe(all.at(-1)!.at)
    const older = await it.get<CaptureSummary[]>(`captures?before=${all[4]!.id}&outcome=rejected`)
    expect(older.map(({ id }) => id)).toEqual(all.slice(5).map(({ id }) => id))
  })

  test("new ones of both are live events", async () => {
    const seen = new Set<string>()
    for await (const { name, data } of serverSentEvents(`${it.running.adminUrl}/api/live`)) {
      if (name === "overview" && seen.size === 0) await overManyConnections(port, 20, "{}", {})
      if (name !== "capture") continue
      seen.add((data as CaptureSummary).id)
      if (seen.size === 20) break
    }
  })

  test("a sample is published, its record is read, and it is replayed", async () => {
    const sent = await it.post<SendResult>("send", { pipeline: "webhooks", body: '{"zen":"Keep it."}' })
    expect(sent).toMatchObject({ status: 200, record: { connection: "broker", topic } })
    const { partition, offset } = sent.record!
    const record = await it.get<{ value_base64: string }>(`records/broker/${topic}/${partition}/${offset}`)
    expect(Buffer.from(record.value_base64, "base64").toString()).toStartWith('{"zen":"Keep it."')
    const from = { connection: "broker", topic, partition, from_offset: offset }
    const to = { connection: "broker", topic: `${topic}-copy` }
    const { id } = await it.post<ReplayOverview>("replays", { from, to })
    for await (const { name, data } of serverSentEvents(`${it.running.adminUrl}/api/live`)) {
      const job = data as ReplayOverview
      if (name !== "replay" || job.id !== id || job.ended_at === null) continue
      expect(job).toMatchObject({ state: "done", replayed: 1, failed: 0 })
      break
    }
  })

  test("one that was refused by another secret is sent again after a reload", async () => {
    const body = '{"action":"closed"}'
    const [status] = await overManyConnections(port, 1, body, signed(body, "the-right-secret-000"))
    expect(status).toBe(401)
    const { summary } = await it.get<CaptureDetail>("captures/last")
    expect((await it.post<SendResult>(`captures/${summary.id}/resend`)).status).toBe(401)
    expect(await reload(it.running, it.folder, configuration("the-right-secret-000"))).toBe("reloaded")
    const resent = await it.post<SendResult>(`captures/${summary.id}/resend`)
    expect(resent).toMatchObject({ status: 200, record: { topic } })
  })

  test("the log level changes in all, in one that is restarted too, until a reload", async () => {
    expect(await reload(it.running, it.folder, configuration(SECRET))).toBe("reloaded")
    const body = '{"action":"logged"}'
    /** Resolves when both have logged events that they published. */
    const bothLog = async (): Promise<void> => {
      const { log } = it.running
      const before = log.length
      await overManyConnections(port, 40, body, signed(body, SECRET))
      for (const worker of [1, 2])
        await it.running.logged(
          (line) => line.level === "debug" && line["worker"] === worker && log.indexOf(line) >= before,
        )
    }
    await it.post("log-level", { level: "debug" }, "PUT")
    await bothLog()
    process.kill(childrenOf(it.running.pid)[0]!, "SIGKILL")
    await it.running.logged(({ msg }) => msg === "worker restarted")
    await bothLog()
    await it.post("log-level", { level: "error" }, "PUT")
    await it.running.logged(({ msg, to }) => msg === "log level changed" && to === "error")
    const before = it.running.log.length
    await overManyConnections(port, 20, "{}", {})
    expect(it.running.log.slice(before)).toEqual([])
    expect(await it.get<unknown>("log-level")).toEqual({ level: "error" })
    expect(await reload(it.running, it.folder, configuration(SECRET))).toBe("reloaded")
    expect(await it.get<unknown>("log-level")).toEqual({ level: "info" })
  })

  test("forgotten, none of them has any", async () => {
    await overManyConnections(port, 20, "{}", {})
    expect((await it.get<Overview>("overview")).refused).toBeGreaterThanOrEqual(20)
    await it.get("captures", { method: "DELETE" })
    expect(await it.get<CaptureSummary[]>("captures")).toEqual([])
    expect((await it.get<Overview>("overview")).refused).toBe(0)
  })
})
