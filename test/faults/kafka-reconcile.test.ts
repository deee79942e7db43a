import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { GITHUB_SECRET, GitHubHook } from "../support/github-hook.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { canStartKafka, createTopic, freshTopic } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { freePort } from "../support/ports.ts"
import { onKafka } from "../support/webhook-service.ts"
import { isFull, report } from "../support/fault-table.ts"

setDefaultTimeout(400_000)

const DOWN_MS = isFull ? 60_000 : 5000
/** 100 events a second. */
const EVERY_MS = 10

const available = (await canStartKafka()) && hasKcat()

describe.skipIf(!available)("Kafka down, no spool", () => {
  const kafka = kafkaOfTests()

  test("all that GitHub sent is in the topic afterwards, and the certificate says so", async () => {
    using folder = temporaryFolder()
    const topic = freshTopic()
    await createTopic(kafka, topic)
    await using hook = new GitHubHook(`http://127.0.0.1:${await freePort()}/hooks`)
    hook.deliveredAgoMs = 300_000
    await using service = await startHookline(
      `[connection:kafka]
${onKafka(kafka)}
delivery_timeout = 2s
[pipeline:hooks:WebHookSource]
host = 127.0.0.1
port = ${new URL(hook.url).port}
path = /hooks
[pipeline:hooks:Verifier]
provider = github
secret = ${GITHUB_SECRET}
[pipeline:hooks:Deduplicator]
[pipeline:hooks:BrokerSink]
topic = ${topic}
${hook.section()}
every = 2s
requests_per_hour = 1000000
`,
      { folder: folder.path },
    )
    const sending: Promise<number>[] = []
    const load = setInterval(() => void sending.push(hook.send(`event ${sending.length}`)), EVERY_MS)
    await Bun.sleep(2000)
    await kafka.nodes[0]!.kill()
    await Bun.sleep(DOWN_MS)
    await kafka.nodes[0]!.start()
    await service.logged(({ msg, open }) => msg === "reconciled" && open === 0)
    clearInterval(load)
    const statuses = await Promise.all(sending)
    const failed = statuses.filter((status) => status !== 200).length
    expect(failed).toBeGreaterThan(0)
    // the last ones may have failed after the list was read
    const found = await service.logged(
      ({ msg, open, recovered }) => msg === "reconciled" && open === 0 && recovered === failed,
    )
    expect(found).toMatchObject({ missing: failed, unrecoverable: 0 })
    const window = async () => {
      const overview = await (await fetch(`${service.adminUrl}/api/overview`)).json()
      return (overview as { reconciles: { window: { listed: number } }[] }).reconciles[0]!.window
    }
    // the last ones may be younger than the list
    while ((await window()).listed < hook.guids.length) await Bun.sleep(100)
    expect(await window()).toMatchObject({ listed: hook.guids.length, recovered: failed, open: 0 })
    const inTopic = (await readWithKcat(kafka, topic)).map(
      ({ value }) => (JSON.parse(value.toString()) as { k: string }).k,
    )
    const distinct = new Set(inTopic)
    report(`Kafka killed for ${DOWN_MS / 1000} s without a spool, reconciled with GitHub`, {
      sent: statuses.length,
      acknowledged: statuses.length - failed,
      found: distinct.size,
      lost: statuses.filter((status, n) => status === 200 && !distinct.has(`event ${n}`)).length,
      doubled: inTopic.length - distinct.size,
      longestWaitMs: undefined,
    })
    expect([...distinct].toSorted()).toEqual(hook.guids.toSorted())
    // Kafka may have stored what was answered 503 when it was killed
    const twice = inTopic.filter((guid, at) => inTopic.indexOf(guid) !== at)
    expect(twice.filter((guid) => statuses[Number(guid.slice("event ".length))] === 200)).toEqual([])
  })
})
