import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { compare } from "../support/findings.ts"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { makeCertificates, type Certificates } from "../support/kafka-certificates.ts"
import { until } from "../support/kafka-options.ts"
import { canStartKafka, createTopic, freshTopic, startKafka, type OwnKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { freePort } from "../support/ports.ts"
import { eventsInKafka, onKafka } from "../support/webhook-service.ts"

const readyz = async ({ adminUrl }: RunningHookline): Promise<{ code: number; answer: unknown }> => {
  const answer = await fetch(`${adminUrl}/readyz`)
  return { code: answer.status, answer: await answer.json() }
}

describe.skipIf(!hasKcat() || !(await canStartKafka()))(
  "a connection to Kafka whose CA is not there yet",
  () => {
    const folder = temporaryFolder()
    let kafka: OwnKafka
    let certificates: Certificates
    beforeAll(async () => {
      certificates = await makeCertificates(folder.make("certificates"))
      const { server, ca } = certificates
      kafka = await startKafka({
        listeners: { SECURE: "SSL" },
        properties: {
          "ssl.keystore.type": "PEM",
          "ssl.keystore.location": server.keystore,
          "ssl.truststore.type": "PEM",
          "ssl.truststore.location": ca,
        },
      })
    })
    afterAll(async () => {
      await kafka?.stop()
      folder[Symbol.dispose]()
    })

    test("at the start answers 503 while another connection receives, and is connected to once it is", async () => {
      const own = folder.make("at the start")
      const [sound, secure, port] = [freshTopic(), freshTopic(), await freePort()]
      for (const topic of [sound, secure]) await createTopic(kafka, topic)
      const pipeline = (id: string, topic: string): string => `[pipeline:${id}:WebHookSource]
host = 127.0.0.1
port = ${port}
path = /${id}
[pipeline:${id}:BrokerSink]
connection = ${id}
topic = ${topic}
key = json:/k
`
      const ca = join(own, "ca.pem")
      await using running = await startHookline(
        `[connection:sound]
${onKafka(kafka)}
[connection:secure]
bootstrap_servers = ${kafka.listener("SECURE")[0]}
security_protocol = ssl
ssl_ca_location = ${ca}
${pipeline("sound", sound)}${pipeline("secure", secure)}
[admin]
listen = 127.0.0.1:0`,
        { folder: own },
      )
      const sendersTo = (id: string): NumberedSenders =>
        new NumberedSenders({ url: running.urls[id]!, pid: running.pid }, { keys: 4 })
      await using toSecure = sendersTo("secure")
      await using toSound = sendersTo("sound")
      await toSound.many(50)
      await toSecure.first(({ answer }) => answer === 503)
      await running.logged(({ level, reason }) => level === "error" && String(reason).includes(ca))
      await until("only the pipeline of that connection is named", async () => {
        const { code, answer } = await readyz(running)
        const { status, pipelines = {} } = answer as {
          status: string
          pipelines?: { [id: string]: string }
        }
        const isNamed =
          Object.keys(pipelines).join() === "secure" &&
          pipelines["secure"]!.includes(`ssl_ca_location: ${ca}`)
        return code === 200 && status === "partly ready" && isNamed
      })

      copyFileSync(certificates.ca, ca)
      await toSecure.acknowledged()
      await until("all is ready", async () => {
        const { code, answer } = await readyz(running)
        return code === 200 && (answer as { status: string }).status === "ready"
      })
      await Promise.all([toSecure.stop(), toSound.stop()])
      expect(await running.stop()).toBe(0)
      for (const [senders, topic] of [
        [toSound, sound],
        [toSecure, secure],
      ] as const)
        expect(compare(senders.posted, await eventsInKafka(kafka, topic))).toMatchObject({
          lost: 0,
          doubled: 0,
        })
    })
  },
)
