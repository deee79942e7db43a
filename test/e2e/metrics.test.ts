import { randomUUID } from "node:crypto"
import { expect, test } from "bun:test"
import { join } from "node:path"
import { post, postSigned as signed, startEveryProcessor } from "../support/every-processor.ts"
import { folderOfTests, type RunningHookline } from "../support/hookline.ts"
import { samplesIn, type Sample } from "../support/prometheus.ts"
import { HANG_MS } from "../support/hang.ts"

const folder = folderOfTests()

/** Its embedded log has told its size. */
async function start(name: string): Promise<RunningHookline> {
  const running = await startEveryProcessor(join(folder.path, name))
  while (!(await scrape(running)).some(({ labels }) => labels["__name__"] === "hookline_log_bytes"));
  return running
}

const scrape = async ({ adminUrl }: RunningHookline): Promise<Sample[]> =>
  samplesIn(await (await fetch(`${adminUrl}/metrics`)).text())

const seriesOf = (samples: readonly Sample[]): string[] =>
  samples
    .filter(({ labels }) => labels["__name__"]!.startsWith("hookline_"))
    .map(({ labels }) => JSON.stringify(labels))

test("series begin at 0, and nothing that senders choose adds one or becomes a label", async () => {
  await using running = await start("bounded")
  const before = await scrape(running)
  expect(before.filter(({ labels }) => labels["__name__"] === "hookline_events_total")).not.toEqual([])
  for (const { labels, value } of before)
    if (/^hookline_(?!config).*_total$/.test(labels["__name__"]!))
      expect([labels, value]).toEqual([labels, 0])

  const all = running.urls["all"]!
  const marked = `sender-chosen-${randomUUID()}`
  const statuses = [
    await signed(all, '{"type":"push","n":1}', { "X-GitHub-Event": marked, "X-GitHub-Delivery": marked }),
    await signed(all, '{"type":"push","n":1}', { "X-GitHub-Delivery": marked }),
    await signed(all, `{"type":"${marked}"}`),
    await signed(all, `{"${marked}":1}`),
    await signed(all, '{"type":"ping"}'),
    await signed(all, `[{"type":"${marked}"},{"type":"ping"}]`),
    await signed(all, "[]"),
    await signed(all, "[{},{},{}]"),
    await signed(all, `{"n":"${marked}"}`),
    await signed(all, `{"n":1,"n":"${marked}"}`),
    await signed(all, `{"${marked}"`),
    await signed(all, ""),
    await signed(all, '{"\xff"}'),
    await signed(all, `{"a":"${"x".repeat(2000)}"}`),
    await signed(all, "{}", { "Content-Type": `text/${marked}` }),
    await signed(all, "{}", { "Content-Encoding": marked }),
    await signed(all, "{}", { "Content-Encoding": "gzip" }),
    await post(all, "{}", { "Content-Type": "application/json" }),
    await post(all, "{}", { "Content-Type": "application/json", "X-Hub-Signature-256": marked }),
    await post(all, "{}", {
      "Content-Type": "application/json",
      "X-Hub-Signature-256": `sha256=${"0".repeat(64)}`,
    }),
    await fetch(`${all}?${marked}=1`, { method: "DELETE", headers: { "X-Request-Id": marked } }),
    await post(running.urls["plain"]!, "{}", { "User-Agent": marked }),
    await post(running.urls["plain"]!, marked),
  ].map(({ status }) => status)
  expect([...new Set(statuses)].toSorted()).toEqual([200, 400, 401, 405, 413, 415])
  await post(all.replace(/all$/, marked), "{}")

  const after = await scrape(running)
  const added = new Set(seriesOf(after)).difference(new Set(seriesOf(before)))
  expect([...added]).toEqual(['{"pipeline":"","status":"404","__name__":"hookline_http_requests_total"}'])
  expect(JSON.stringify(after)).not.toContain(marked)
  expect(after.filter(({ value }) => Number.isNaN(value))).toEqual([])

  const events = after.filter(({ labels }) => labels["__name__"] === "hookline_events_total")
  const sum = events.reduce((total, { value }) => total + value, 0)
  expect(sum).toBe(statuses.length)
})

const valueOf = (samples: readonly Sample[], name: string, labels: object): number | undefined =>
  samples.find((it) => it.labels["__name__"] === name && Bun.deepMatch(labels, it.labels))?.value

test("bytes, latencies and the log's state are those of what was sent", async () => {
  await using running = await start("values")
  const plain = running.urls["plain"]!
  for (let n = 0; n < 3; n++) expect((await post(plain, '{"a":1}')).status).toBe(200)
  expect((await post(plain, "[]")).status).toBe(400)

  let samples = await scrape(running)
  const log = { connection: "log" }
  // its thread says what it holds several times a second
  while (!(valueOf(samples, "hookline_log_bytes", log)! > 0)) samples = await scrape(running)
  const values = (name: string, labels: object = {}): number | undefined => valueOf(samples, name, labels)
  expect(values("hookline_received_bytes_total", { pipeline: "plain" })).toBe(3 * 7 + 2)
  expect(values("hookline_answer_seconds_count", { pipeline: "plain", outcome: "accepted" })).toBe(3)
  expect(values("hookline_answer_seconds_count", { pipeline: "plain", outcome: "refused" })).toBe(1)
  expect(values("hookline_answer_seconds_sum", { pipeline: "plain", outcome: "accepted" })).toBeGreaterThan(
    values("hookline_acknowledgement_seconds_sum", { pipeline: "plain" })!,
  )
  expect(values("hookline_log_file_bytes", log)).toBeGreaterThan(16_384)
  expect(values("hookline_log_oldest_age_seconds", log)).toBeGreaterThan(0)
  expect(values("hookline_log_oldest_age_seconds", log)).toBeLessThan(HANG_MS / 1000)
  expect(values("hookline_log_retention_seconds", log)).toBe(3600)
  expect(values("hookline_log_retention_bytes", log)).toBe(1024 ** 2)
  expect(values("hookline_in_flight_limit_bytes")).toBe(64 * 1024 ** 2)
  expect(values("hookline_readiness", { state: "ready" })).toBe(1)
  expect(values("hookline_readiness", { state: "not ready" })).toBe(0)
  const { version } = (await import("../../package.json")).default
  expect(values("hookline_build_info", { version, bun: Bun.version })).toBe(1)
  while (!(valueOf(samples, "hookline_event_loop_lag_seconds_count", {})! > 0))
    samples = await scrape(running)
})

test("a scrape that accepts gzip gets it compressed", async () => {
  await using running = await start("compressed")
  const scraped = await fetch(`${running.adminUrl}/metrics`, {
    headers: { "Accept-Encoding": "gzip" },
    decompress: false,
  })
  expect(scraped.headers.get("content-encoding")).toBe("gzip")
  const text = new TextDecoder().decode(Bun.gunzipSync(await scraped.arrayBuffer()))
  expect(samplesIn(text).length).toBeGreaterThan(100)
})
