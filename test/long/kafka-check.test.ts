import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { hookline, folderOfTests } from "../support/hookline.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { freePort } from "../support/ports.ts"
import { hasRedis, startRedis } from "../support/redis.ts"

const folder = folderOfTests()

const pipeline = (id: string, topic: string): string =>
  `[pipeline:${id}:WebHookSource]\nhost = 127.0.0.1\npath = /${id}\n[pipeline:${id}:BrokerSink]\ntopic = ${topic}\n`

async function check(configuration: string, ...flags: string[]) {
  await Bun.write(join(folder.path, "pipelines.conf"), `${configuration}\n[admin]\nlisten = off\n`)
  const { status, stdout, stderr } = await hookline(["check", "--connect", ...flags], { cwd: folder.path })
  return { status, lines: stdout.trimEnd().split("\n"), stderr }
}

const kafka = await kafkaForTests()
describe.skipIf(kafka === undefined)("check --connect with Kafka", () => {
  test("says what each address and topic answers, and creates no topic", async () => {
    const [known, missing] = [freshTopic("check"), freshTopic("check")]
    await createTopic(kafka!, known)
    const [server] = kafka!.bootstrapServers
    const closed = `127.0.0.1:${await freePort()}`
    const configuration = `[connection:kafka]\nbootstrap_servers = ${server}, ${closed}\n${pipeline("a", known)}${pipeline("b", missing)}`
    for (const _ of ["once", "again"]) {
      const { status, lines, stderr } = await check(configuration)
      expect({ status, stderr }).toEqual({ status: 0, stderr: expect.not.stringContaining("reached") })
      const answers = lines.filter(
        (line) => line.startsWith("connection kafka: ") && !line.includes("(plaintext)"),
      )
      expect(answers).toEqual([
        `connection kafka: ${server} answers`,
        `connection kafka: ${closed} can't be used: connection refused`,
        expect.stringMatching(/^connection kafka: broker \d+, advertised as .*:\d+, answers$/),
        `connection kafka: topic ${known} has 1 partition`,
        `connection kafka: topic ${missing} does not exist; a start creates it, where the cluster allows that`,
      ])
    }
  })
})

test("exits 69 when Kafka can't be reached, also as JSON", async () => {
  const address = `127.0.0.1:${await freePort()}`
  const configuration = `[connection:kafka]\nbootstrap_servers = ${address}\n${pipeline("a", "t")}`
  const { status, lines, stderr } = await check(configuration)
  expect(status).toBe(69)
  expect(lines).toContain(`connection kafka: ${address} can't be used: connection refused`)
  expect(lines).not.toContain("Configuration OK")
  expect(stderr).toBe("The configuration is valid, but not all of it can be reached.\n")
  const json = await check(configuration, "--json")
  expect(json.status).toBe(69)
  expect(JSON.parse(json.lines.join("\n"))).toEqual({
    file: "pipelines.conf",
    ok: false,
    problems: [],
    warnings: [],
    connections: [{ id: "kafka", kind: "kafka", at: `${address} (plaintext)` }],
    pipelines: [
      {
        id: "a",
        listen: "127.0.0.1:8080",
        path: "/a",
        connection: "kafka",
        topic: "t",
        verification: "none",
      },
    ],
    reconciles: [],
    forwards: [],
    admin: "off",
    reached: [
      {
        name: "connection kafka",
        isUsable: false,
        answers: [`${address} can't be used: connection refused`],
      },
    ],
  })
})

describe.skipIf(!hasRedis())("check --connect with Redis", () => {
  test("says whether the store answers, by its address without its password", async () => {
    await using redis = await startRedis({ password: "obviously-fake" })
    const storedIn = (store: string): string =>
      `[connection:log]\ndirectory = data\n${pipeline("a", "t")}[pipeline:a:Deduplicator]\nkey = json:/id\nstore = ${store}\n`
    const address = redis.url.replace(":obviously-fake@", "")
    const right = await check(storedIn(redis.url))
    expect([right.status, right.lines]).toEqual([0, expect.arrayContaining([`store: ${address} answers`])])
    const wrong = await check(storedIn(redis.url.replace("obviously-fake", "obviously-wrong")))
    expect([wrong.status, wrong.lines]).toEqual([
      69,
      expect.arrayContaining([`store: ${address} can't be reached, or refuses the user or password`]),
    ])
    expect(JSON.stringify([right, wrong])).not.toContain("obviously")
  })
  test("says that a server which takes no writes can't be used", async () => {
    await using redis = await startRedis()
    await redis.send("REPLICAOF", "127.0.0.1", `${await freePort()}`)
    const store = `[pipeline:a:Deduplicator]\nkey = json:/id\nstore = ${redis.url}\n`
    const { status, lines } = await check(`[connection:log]\ndirectory = data\n${pipeline("a", "t")}${store}`)
    expect([status, lines]).toEqual([
      69,
      expect.arrayContaining([expect.stringContaining(`store: ${redis.url} can't be used: READONLY `)]),
    ])
  })
})
