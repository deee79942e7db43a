import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { deadLettered, send } from "../support/dead-lettered.ts"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { canStartKafka, createTopic, startStrictKafka, type OwnKafka } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("dead letters on Kafka", () => {
  const folder = temporaryFolder()
  let kafka: OwnKafka
  let running: RunningHookline
  beforeAll(async () => {
    kafka = await startStrictKafka(["pay", "pay.dead", "late"])
    running = await startHookline(
      `[connection:kafka]\nbootstrap_servers = ${kafka.bootstrapServers}\ndelivery_timeout = 10s
${deadLettered("pay")}${deadLettered("late")}`,
      { folder: folder.path },
    )
    while ((await send(running.urls["pay"]!, "{}")).status !== 200);
  })
  afterAll(async () => {
    await running.stop()
    await kafka.stop()
    folder[Symbol.dispose]()
  })

  test("a refusal is answered when its dead letter is acknowledged: kcat shows it, with its headers", async () => {
    const before = await readWithKcat(kafka, "pay.dead")
    expect((await send(running.urls["pay"]!, '{"id":1}}')).status).toBe(400)
    const [letter, ...more] = (await readWithKcat(kafka, "pay.dead")).slice(before.length)
    expect([letter!.value.toString(), letter!.key, more]).toEqual(['{"id":1}}', undefined, []])
    expect(letter!.headers).toContain("hookline.errors.reason=invalid_json,")
    expect(letter!.headers).toContain("hookline.errors.pipeline=pay,hookline.errors.topic=pay,")
  })

  test("while the dead letter can't be published the sender gets 503, and again its refusal after that", async () => {
    const url = running.urls["late"]!
    while ((await send(url, "{}")).status !== 200);
    const refused = await send(url, "no-topic-yet")
    expect(refused.status).toBe(503)
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
    const line = await running.logged(({ reason }) => String(reason).startsWith("dead_letter_"))
    expect(line).toMatchObject({ pipeline: "late", status: 503, level: "warn" })
    expect(line["detail"]).toContain("invalid_json")

    await createTopic(kafka, "late.dead")
    let answer = await send(url, "no-topic-yet")
    while (answer.status === 503) answer = await send(url, "no-topic-yet")
    expect(answer.status).toBe(400)
    const letters = await readWithKcat(kafka, "late.dead")
    expect(letters.map(({ value }) => value.toString())).toContain("no-topic-yet")
    for (const { value } of await readWithKcat(kafka, "late")) expect(value.toString()).toStartWith("{")
  })

  test("a dead letter that the broker finds too large is reported as lost, and the refusal stands", async () => {
    const before = await readWithKcat(kafka, "pay.dead")
    expect((await send(running.urls["pay"]!, "x".repeat(30_000))).status).toBe(400)
    const line = await running.logged(({ msg }) => msg === "dead letter lost")
    expect(line).toMatchObject({ pipeline: "pay", reason: "invalid_json", level: "error", bytes: 30_000 })
    expect(await readWithKcat(kafka, "pay.dead")).toEqual(before)
  })
})
