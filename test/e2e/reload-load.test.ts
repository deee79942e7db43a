import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { readTopic } from "../../src/brokers/read-topic.ts"
import { openEmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { startHookline, folderOfTests } from "../support/hookline.ts"
import { makeCertificates } from "../support/kafka-certificates.ts"
import { freePort } from "../support/ports.ts"
import { Sender } from "../support/sender.ts"

const folder = folderOfTests()

const RELOADS = 30

/** The secret that senders sign with is one of two, in turn the first and the second. */
const secretsOf = (version: number): string =>
  version % 2 === 0 ? "obviously-fake-0" : "obviously-fake-1, obviously-fake-0"

interface Ports {
  readonly plain: number
  readonly tls: number
  readonly more: number
}

function configuration(version: number, { plain, tls, more }: Ports): string {
  const extra = `
[pipeline:extra:WebHookSource]
host = 127.0.0.1
port = ${version % 4 < 2 ? plain : more}
path = /extra
[pipeline:extra:BrokerSink]
topic = extra`
  return `
[connection:log]
directory = log
retention = ${version + 1}h
[pipeline:signed:WebHookSource]
host = 127.0.0.1
port = ${plain}
path = /signed
[pipeline:signed:Verifier]
provider = hmac
header = X-Signature
secret = ${secretsOf(version)}
[pipeline:signed:BrokerSink]
topic = signed-${version}
[pipeline:secure:WebHookSource]
host = 127.0.0.1
port = ${tls}
path = /secure
tls_certificate = certificate.pem
tls_key = certificate.key
[pipeline:secure:BrokerSink]
topic = secure-${version}
${version % 2 === 0 ? "" : extra}
[admin]
listen = off`
}

async function topicsOf(directory: string): Promise<Map<number, string[]>> {
  const found = new Map<number, string[]>()
  const reader = openEmbeddedReader(directory)
  try {
    for (const { topic } of await reader.topics()) {
      const signal = new AbortController().signal
      for await (const { value } of readTopic(reader, topic, { from: "beginning", follow: false, signal })) {
        const { n } = JSON.parse(Buffer.from(value).toString()) as { n: number }
        found.set(n, [...(found.get(n) ?? []), topic])
      }
    }
  } finally {
    await reader.close()
  }
  return found
}

test("under load, through thirty reloads, what is answered is answered 200 and published once, to the topic of its time; only a new certificate breaks connections off", async () => {
  const ports = { plain: await freePort(), tls: await freePort(), more: await freePort() }
  const certificates = await makeCertificates(folder.path)
  const install = (version: number): void => {
    const { certificate, key } = certificates[version % 2 === 0 ? "server" : "elsewhere"]
    copyFileSync(certificate, join(folder.path, "certificate.pem"))
    copyFileSync(key, join(folder.path, "certificate.key"))
  }
  install(0)
  await using running = await startHookline(configuration(0, ports), { folder: folder.path })

  // the last version that is known to run, and the last that may
  let [ran, mayRun] = [0, 0]
  const over = new AbortController()
  let next = 0
  const sent: { n: number; prefix: string; from: number; to: number; status: number }[] = []
  const presented = new Set<string | undefined>()
  const unanswered: { n: number; isTls: boolean; error: string }[] = []
  const send = async (isTls: boolean, keepsAlive: boolean): Promise<void> => {
    const connect = () => new Sender(isTls ? ports.tls : ports.plain, { isTls, keepsAlive })
    let sender = connect()
    const prefix = isTls ? "secure" : "signed"
    while (!over.signal.aborted) {
      const n = next++
      const body = JSON.stringify({ n })
      const signature = createHmac("sha256", "obviously-fake-0").update(body).digest("hex")
      const from = ran
      try {
        const { status, certificate } = await sender.post(`/${prefix}`, body, { "X-Signature": signature })
        presented.add(certificate)
        sent.push({ n, prefix, from, to: mayRun, status })
      } catch (error) {
        unanswered.push({ n, isTls, error: String(error) })
        sender[Symbol.dispose]()
        sender = connect()
      }
    }
    sender[Symbol.dispose]()
  }
  const senders = [
    send(false, true),
    send(false, true),
    send(false, false),
    send(true, true),
    send(true, false),
    send(true, false),
  ]
  for (let version = 1; version <= RELOADS; version++) {
    install(version)
    await Bun.write(join(folder.path, "pipelines.conf"), configuration(version, ports))
    mayRun = version
    const before = sent.length
    running.signal("SIGHUP")
    await running.logged(
      () =>
        running.log.filter(({ msg }) => msg === "reloaded" || msg.startsWith("reload failed")).length >=
        version,
    )
    ran = version
    while (sent.length < before + 20) await Bun.sleep(1)
  }
  over.abort()
  await Promise.all(senders)
  expect(await running.stop()).toBe(0)

  expect(unanswered.filter(({ isTls }) => !isTls)).toEqual([])
  // at each new certificate each of the three senders has at most one connection
  expect(unanswered.length).toBeLessThanOrEqual(3 * RELOADS)
  expect(sent.filter(({ status }) => status !== 200)).toEqual([])
  expect(running.log.filter(({ level }) => level === "error")).toEqual([])
  const topics = await topicsOf(join(folder.path, "log"))
  const wrong = sent.filter(({ n, prefix, from, to }) => {
    const [topic = "", ...more] = topics.get(n) ?? []
    const version = Number(topic.slice(prefix.length + 1))
    return more.length > 0 || !topic.startsWith(`${prefix}-`) || version < from || version > to
  })
  expect(wrong).toEqual([])
  // one that was broken off may have been published, once
  for (const { n } of unanswered) expect((topics.get(n) ?? []).length).toBeLessThanOrEqual(1)
  const answered = new Set(sent.map(({ n }) => n))
  expect([...topics.keys()].filter((n) => answered.has(n))).toHaveLength(sent.length)
  expect(presented).toEqual(new Set([undefined, "server", "elsewhere"]))
  console.log(
    `${sent.length} requests answered 200 and published once over ${RELOADS} reloads, ${unanswered.length} broken off`,
  )
})
