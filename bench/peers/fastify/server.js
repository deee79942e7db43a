/**
 * A webhook receiver as one writes it with Fastify and kafkajs. It answers 200 when Kafka has acknowledged with acks=all,
 * 4xx when the body is no JSON object or the signature is wrong.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import Fastify from "fastify"
import { CompressionTypes, Kafka, logLevel } from "kafkajs"

const { BOOTSTRAP_SERVERS, PORT, TOPIC: topic, SECRET = "" } = process.env

const kafka = new Kafka({ brokers: BOOTSTRAP_SERVERS.split(","), logLevel: logLevel.ERROR })
const producer = kafka.producer({ idempotent: true, maxInFlightRequests: Number(process.env.INFLIGHT ?? 1) })
await producer.connect()

const fastify = Fastify({ bodyLimit: 1024 * 1024 })
const utf8 = new TextDecoder("utf-8", { fatal: true })

fastify.removeAllContentTypeParsers()
fastify.addContentTypeParser("*", { parseAs: "buffer" }, (request, body, done) => done(null, body))

fastify.post("/", async (request, reply) => {
  const { body } = request
  if (SECRET !== "" && !isSigned(body, request.headers["x-hub-signature-256"])) return reply.code(401).send()
  const event = parseObject(body)
  if (event === undefined) return reply.code(400).send()
  event.received_at = localTime(new Date())
  event.source = "webhook"
  await publish(Buffer.from(JSON.stringify(event)))
  return reply.send()
})

/** Below what a broker takes as a batch, 1 MiB. */
const BATCH_BYTES = 900_000

/** What has gathered while the request before was out goes as one: kafkajs itself sends each call as a request. */
const waiting = []
let sending = false

function publish(value) {
  return new Promise((resolve, reject) => {
    waiting.push({ value, resolve, reject })
    if (!sending) void send()
  })
}

async function send() {
  sending = true
  while (waiting.length > 0) {
    let bytes = 0
    const beyond = waiting.findIndex(({ value }) => (bytes += value.length) > BATCH_BYTES)
    const batch = waiting.splice(0, beyond < 0 ? waiting.length : Math.max(beyond, 1))
    const messages = batch.map(({ value }) => ({ value }))
    try {
      await producer.send({ topic, acks: -1, compression: CompressionTypes.None, messages })
      for (const { resolve } of batch) resolve()
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  sending = false
}

function isSigned(body, signature = "") {
  const expected = Buffer.from(`sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`)
  const sent = Buffer.from(signature)
  return sent.length === expected.length && timingSafeEqual(sent, expected)
}

function parseObject(body) {
  try {
    const value = JSON.parse(utf8.decode(body))
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

function localTime(date) {
  const offset = -date.getTimezoneOffset()
  const two = (number) => String(Math.floor(number)).padStart(2, "0")
  const shifted = new Date(date.getTime() + offset * 60_000).toISOString().slice(0, -1)
  return `${shifted}${offset < 0 ? "-" : "+"}${two(Math.abs(offset) / 60)}:${two(Math.abs(offset) % 60)}`
}

await fastify.listen({ host: "127.0.0.1", port: Number(PORT) })
