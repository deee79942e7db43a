import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { steadyMs } from "../../src/clock/clock.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { kafkaClassPath } from "../support/kafka-jars.ts"
import { openProxy, type Proxy } from "../support/kafka-proxy.ts"
import { canStartKafka, createTopic, freshTopic, startKafka, type OwnKafka } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { hasTools } from "../support/tools.ts"

/** Authenticated again after 0.8 of it: the rest is what a busy machine may be late by. */
const REAUTHENTICATE_MS = 8000

describe.skipIf(!(await canStartKafka()) || !hasKcat() || !hasTools("javac"))(
  "a Kafka that takes presigned URLs, as MSK does",
  () => {
    const folder = temporaryFolder()
    let kafka: OwnKafka
    let proxy: Proxy

    beforeAll(async () => {
      const found = await kafkaClassPath()
      if ("missing" in found) throw new Error(found.missing)
      const source = join(import.meta.dir, "../support/PresignedUrlValidator.java")
      const { exitCode, stderr } = Bun.spawnSync(["javac", "-cp", found.classPath, "-d", folder.path, source])
      if (exitCode !== 0) throw new Error(stderr.toString())
      proxy = await openProxy()
      const own = "listener.name.iam"
      kafka = await startKafka({
        listeners: { IAM: "SASL_PLAINTEXT" },
        advertised: { IAM: proxy.address },
        classes: folder.path,
        properties: {
          [`${own}.sasl.enabled.mechanisms`]: "OAUTHBEARER",
          [`${own}.oauthbearer.sasl.jaas.config`]:
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
          [`${own}.oauthbearer.sasl.server.callback.handler.class`]: "PresignedUrlValidator",
          [`${own}.oauthbearer.connections.max.reauth.ms`]: `${REAUTHENTICATE_MS}`,
          "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
          "super.users": "User:ANONYMOUS;User:AKIAOBVIOUSLYFAKE",
        },
      })
      proxy.target = kafka.listener("IAM")[0]
    })
    afterAll(async () => {
      await kafka?.stop()
      await proxy?.[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    })

    test("is published to by the key of the environment, as which it is authorized, on connections that authenticate again", async () => {
      const topic = freshTopic("iam")
      await createTopic(kafka, topic)
      await using running = await startHookline(
        `[connection:kafka]
bootstrap_servers = ${proxy.address}
security_protocol = sasl_plaintext
sasl_mechanism = AWS_MSK_IAM
[pipeline:webhooks:WebHookSource]
[pipeline:webhooks:BrokerSink]
topic = ${topic}`,
        {
          folder: folder.make("hookline"),
          env: {
            AWS_ACCESS_KEY_ID: "AKIAOBVIOUSLYFAKE",
            AWS_SECRET_ACCESS_KEY: "obviously-fake",
            AWS_SESSION_TOKEN: "obviously/fake+session==".repeat(40),
            AWS_REGION: "eu-west-1",
          },
        },
      )
      const post = async (): Promise<number> =>
        (await fetch(running.urls["webhooks"]!, { method: "POST", body: "{}" })).status
      expect(await post()).toBe(200)
      const opened = proxy.opened
      const end = steadyMs() + 2.5 * REAUTHENTICATE_MS
      let count = 1
      while (steadyMs() < end) {
        expect(await post()).toBe(200)
        count++
      }
      expect(proxy.opened).toBe(opened)
      expect(await readWithKcat(kafka, topic)).toHaveLength(count)
    })
  },
)
