import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import { makeSigner } from "../../src/verify/presets/providers.ts"
import { sampleRequest } from "../../src/verify/samples/samples.ts"
import { makeCertificate } from "../support/certificate.ts"
import { blocksOf } from "../support/documents.ts"
import { HANG_MS } from "../support/hang.ts"
import { hooklineInProcess } from "../support/command-in-process.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import type { Started } from "../support/started.ts"
import { startCommand } from "../support/running-command.ts"
import { hasPostgres, makePostgres, query, type Postgres } from "../support/postgres.ts"

setDefaultTimeout(HANG_MS)

/** The pause between two looks at what becomes so within seconds. */
const LOOK_MS = 100
/** The schema of the test's own log. */
let schema = ""
let schemas = 0

describe.skipIf(!hasPostgres())("a log in PostgreSQL", () => {
  let postgres: Postgres
  beforeAll(async () => {
    postgres = await makePostgres()
    postgres.start()
    await postgres.answers()
  })
  afterAll(() => postgres[Symbol.asyncDispose]())
  beforeEach(() => {
    schema = `log_${schemas++}`
  })

  const configuration = (more = "", url = postgres.url): string => `[connection:db]
postgres = ${url}
schema = ${schema}
${more}
[pipeline:hooks:WebHookSource]
[pipeline:hooks:BrokerSink]
topic = hooks
key = json:/k
`

  async function initialize(cwd: string, text = configuration()): Promise<void> {
    await Bun.write(`${cwd}/pipelines.conf`, text)
    expect(await hooklineInProcess(["db", "init"], { cwd })).toMatchObject({ status: 0, stderr: "" })
  }

  const post = async (service: Started, body: object): Promise<number> =>
    (await fetch(service.urls.hooks!, { method: "POST", body: JSON.stringify(body) })).status

  async function untilTaken(service: Started, body: object): Promise<void> {
    while ((await post(service, body)) !== 200) await Bun.sleep(LOOK_MS)
  }

  const ready = async (service: Started): Promise<string> =>
    (await fetch(`${service.adminUrl}/readyz`)).text()

  async function untilReady(service: Started, text: string): Promise<void> {
    while (!(await ready(service)).includes(text)) await Bun.sleep(LOOK_MS)
  }

  const values = async (): Promise<object[]> =>
    (
      await query<{ value: string }>(postgres.url, `SELECT value FROM ${schema}.events ORDER BY "offset"`)
    ).map(({ value }) => JSON.parse(value) as object)

  test("an event is a row, which SQL, tail and topics read; the offsets go on after a restart", async () => {
    using folder = temporaryFolder()
    const cwd = folder.path
    await initialize(cwd, `${configuration()}headers = *\n`)
    for (const n of [1, 2]) {
      await using service = await startInProcess(`${configuration()}headers = *\n`, { folder: cwd })
      const { status } = await fetch(service.urls.hooks!, {
        method: "POST",
        body: JSON.stringify({ n, k: "ü" }),
        headers: { "x-kind": "first", "content-type": "application/json" },
      })
      expect(status).toBe(200)
    }
    const rows = await query(
      postgres.url,
      `SELECT topic, partition, "offset", key, value::jsonb->'n' AS n, value::jsonb->>'source' AS source,
        convert_from(${schema}.header(headers, 'x-kind'), 'UTF8') AS kind, ${schema}.header(headers, 'x-none') AS none,
        at > now() - interval '1 hour' AND at <= now() AS is_recent
      FROM ${schema}.events ORDER BY "offset"`,
    )
    const of = { topic: "hooks", partition: 0, key: "ü", source: "webhook", kind: "first", none: null }
    expect(rows).toMatchObject([
      { ...of, offset: "0", n: 1, is_recent: true },
      { ...of, offset: "1", n: 2, is_recent: true },
    ])
    const tail = await hooklineInProcess(["tail", "hooks", "--format", "json"], { cwd })
    const tailed = tail.stdout.trim().split("\n")
    expect(tailed.map((line) => JSON.parse(line) as object)).toMatchObject([
      { partition: 0, offset: 0, key: "ü", value: { n: 1 } },
      { partition: 0, offset: 1, key: "ü", value: { n: 2 } },
    ])
    expect((await hooklineInProcess(["topics"], { cwd })).stdout).toMatch(/db\/hooks +1 +2 +-/)
  })

  test("the configuration and the statements of docs/postgres.md", async () => {
    using folder = temporaryFolder()
    const env = { DATABASE_URL: postgres.url, GITHUB_SECRET: "not-a-real-secret" }
    const [file, ...statements] = blocksOf("docs/postgres.md")
    await Bun.write(`${folder.path}/pipelines.conf`, file!.text)
    expect(await hooklineInProcess(["db", "init"], { cwd: folder.path, env })).toMatchObject({
      status: 0,
      stderr: "",
    })
    await using service = await startInProcess(file!.text, { folder: folder.path, env })
    const url = service.urls.hooks!
    const signer = makeSigner("github", { secret: [env.GITHUB_SECRET] })
    for (const id of ["first", "second"]) {
      const { headers, body } = sampleRequest("github", { id, number: 1, atMs: Date.now() })
      const signed = await signer.sign({ method: "POST", url, headers, body, id }, Date.now())
      const { status } = await fetch(url, {
        method: "POST",
        headers: [...signed.headers],
        body: Buffer.from(signed.body),
      })
      expect(status).toBe(200)
    }
    const [shown, cursor] = statements.map(({ text }) => text)
    const [newest, kinds] = shown!.trim().split("\n")
    expect(await query(postgres.url, newest!)).toMatchObject([{ topic: "hooks" }, { topic: "hooks" }])
    expect(await query(postgres.url, kinds!)).toEqual([{ kind: "push" }, { kind: "push" }])
    for (let time = 0; time < 2; time++) {
      await query(postgres.url, cursor!)
      expect(await query(postgres.url, "SELECT position FROM my_cursor")).toEqual([{ position: "1" }])
    }
  })

  test("a user that may only call the functions and read publishes; it can neither delete nor create", async () => {
    using folder = temporaryFolder()
    await query(postgres.url, `CREATE ROLE writer_${schemas} LOGIN`)
    const url = postgres.url.replace("test@", `writer_${schemas}@`)
    await Bun.write(`${folder.path}/pipelines.conf`, configuration())
    const { status, stdout } = await hooklineInProcess(["db", "init", "--role", `writer_${schemas}`], {
      cwd: folder.path,
    })
    expect([status, stdout]).toEqual([0, expect.stringContaining(`writer_${schemas} may publish`)])
    await using service = await startInProcess(configuration("", url), { folder: folder.path })
    expect(await post(service, { n: 1 })).toBe(200)
    for (const statement of [
      `DELETE FROM ${schema}.records`,
      `INSERT INTO ${schema}.records VALUES (1, 9, now(), NULL, NULL, '')`,
      `CREATE TABLE ${schema}.mine ()`,
    ])
      expect(query(url, statement)).rejects.toThrow("permission denied")
    expect((await hooklineInProcess(["tail", "hooks"], { cwd: folder.path })).stdout).toContain('"n":1')
  })

  test("a key is of one partition, and partitions are added by a larger number", async () => {
    using folder = temporaryFolder()
    await initialize(folder.path)
    {
      await using service = await startInProcess(configuration(), { folder: folder.path })
      expect(await post(service, { k: "a" })).toBe(200)
    }
    await using service = await startInProcess(configuration("partitions = 4"), { folder: folder.path })
    const keys = Array.from({ length: 40 }, (_, n) => `k${n % 10}`)
    expect(await Promise.all(keys.map((k) => post(service, { k })))).toEqual(keys.map(() => 200))
    const rows = await query<{ key: string; partitions: number }>(
      postgres.url,
      `SELECT key, count(DISTINCT partition)::int AS partitions FROM ${schema}.events GROUP BY key`,
    )
    expect(rows.filter(({ partitions }) => partitions !== 1)).toEqual([])
    const [used] = await query<{ n: number }>(
      postgres.url,
      `SELECT count(DISTINCT partition)::int AS n FROM ${schema}.events`,
    )
    expect(used!.n).toBeGreaterThan(2)
  })

  test("two services that publish to one topic leave offsets without gaps, and a reader beside them skips none", async () => {
    using folders = new DisposableStack()
    const one = folders.use(temporaryFolder())
    const other = folders.use(temporaryFolder())
    await initialize(one.path)
    await using first = await startInProcess(configuration(), { folder: one.path })
    await using second = await startInProcess(configuration(), { folder: other.path })
    expect(await post(first, { n: "first" })).toBe(200)
    await using following = startCommand(["tail", "hooks", "-f", "--begin", "beginning"], one.path)
    const numbers = Array.from({ length: 400 }, (_, n) => n)
    const answers = await Promise.all(numbers.map((n) => post(n % 2 === 0 ? first : second, { n })))
    expect(new Set(answers)).toEqual(new Set([200]))
    const offsets = await query<{ offset: string }>(
      postgres.url,
      `SELECT "offset" FROM ${schema}.events ORDER BY "offset"`,
    )
    expect(offsets.map(({ offset }) => Number(offset))).toEqual([...numbers, numbers.length])
    // all that was published, once, in the order of the offsets
    await following.printed(/(?:.*\n){401}/)
    const stored = (await values()).map((it) => JSON.stringify(it))
    expect(following.output().trim().split("\n")).toEqual(stored)
  })

  test("a record that the database refuses fails alone", async () => {
    using folder = temporaryFolder()
    await initialize(folder.path)
    await query(
      postgres.url,
      `ALTER TABLE ${schema}.records ADD CONSTRAINT small CHECK (position('forbidden'::bytea IN value) = 0)`,
    )
    await using service = await startInProcess(configuration(), { folder: folder.path })
    const all = Array.from({ length: 20 }, (_, n) => ({ n, text: n === 7 ? "forbidden" : "fine" }))
    const answers = await Promise.all(all.map((it) => post(service, it)))
    expect(answers.map((status) => status === 200)).toEqual(all.map(({ n }) => n !== 7))
    expect(await values()).toHaveLength(19)
    await service.logged((line) => line.msg === "event rejected" && JSON.stringify(line).includes("small"))
  })

  test("a commit whose wait for a standby was cancelled is refused, and so is each that waits in vain", async () => {
    using folder = temporaryFolder()
    await initialize(folder.path)
    await using service = await startInProcess(configuration("delivery_timeout = 1s"), {
      folder: folder.path,
    })
    expect(await post(service, { n: 1 })).toBe(200)
    await postgres.set("synchronous_standby_names", "nobody")
    try {
      await service.logged((line) => line.msg.includes("synchronous standbys nobody"))
      expect(await post(service, { n: 2 })).toBe(503)
      await untilReady(service, "waits for a synchronous standby")
      const posting = post(service, { n: 3 })
      const waiting = `pg_stat_activity WHERE application_name = 'hookline append' AND wait_event = 'SyncRep'`
      // of one that is waited for no more, and of the next one
      for (let cancelled = 0; cancelled < 2;) {
        const rows = await query(postgres.url, `SELECT pg_cancel_backend(pid) FROM ${waiting}`)
        cancelled += rows.length
        if (rows.length > 0) await Bun.sleep(100)
      }
      expect(await posting).toBe(503)
      await service.logged((line) => JSON.stringify(line).includes("committed with a warning"))
    } finally {
      await postgres.set("synchronous_standby_names", null)
    }
    await untilReady(service, "ready")
    await untilTaken(service, { n: 4 })
    // at most one connection waited for the standby
    const [open] = await query<{ n: number }>(
      postgres.url,
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'hookline append'",
    )
    expect(open!.n).toBe(1)
  })

  test.each<[string, string, string, string]>([
    ["full_page_writes is turned off", "full_page_writes", "off", "full_page_writes = off"],
    [
      "its user's transactions are serializable",
      "default_transaction_isolation",
      "serializable",
      "as serializable",
    ],
  ])("nothing is acknowledged while %s", async (_, name, value, words) => {
    using folder = temporaryFolder()
    await initialize(folder.path)
    await using service = await startInProcess(configuration("delivery_timeout = 1s"), {
      folder: folder.path,
    })
    expect(await post(service, { n: 1 })).toBe(200)
    await postgres.set(name, value)
    try {
      // at once by the append itself where it is the setting of the whole server
      await untilReady(service, words)
      expect(await post(service, { n: 2 })).toBe(503)
    } finally {
      await postgres.set(name, null)
    }
    await untilReady(service, "ready")
    await untilTaken(service, { n: 3 })
    expect(await values()).toMatchObject([{ n: 1 }, { n: 3 }])
  })

  test.each<[string, string, string, string]>([
    [
      "a table is UNLOGGED",
      "ALTER TABLE $.records SET UNLOGGED",
      "ALTER TABLE $.records SET LOGGED",
      "UNLOGGED table, records",
    ],
    [
      "the schema is gone",
      "ALTER SCHEMA $ RENAME TO away",
      "ALTER SCHEMA away RENAME TO $",
      "hookline db init",
    ],
    [
      "a column is renamed",
      "ALTER TABLE $.records RENAME value TO body",
      "ALTER TABLE $.records RENAME body TO value",
      "value",
    ],
  ])("nothing is acknowledged while %s", async (_, begin, end, words) => {
    using folder = temporaryFolder()
    await initialize(folder.path)
    await using service = await startInProcess(configuration("delivery_timeout = 1s"), {
      folder: folder.path,
    })
    expect(await post(service, { n: 1 })).toBe(200)
    await query(postgres.url, begin.replaceAll("$", schema))
    const statuses: number[] = []
    const isNamed = (): boolean => service.log.some((line) => JSON.stringify(line).includes(words))
    for (; !isNamed(); await Bun.sleep(LOOK_MS)) statuses.push(await post(service, { n: 2 }))
    statuses.push(await post(service, { n: 2 }))
    expect(statuses.at(-1)).toBe(503)
    await query(postgres.url, end.replaceAll("$", schema))
    await untilTaken(service, { n: 3 })
    const logged = await values()
    expect(logged.length).toBeGreaterThanOrEqual(statuses.filter((it) => it === 200).length + 2)
    expect(logged.at(-1)).toMatchObject({ n: 3 })
  })

  test("records past their retention are deleted, and offsets go on", async () => {
    using folder = temporaryFolder()
    await initialize(folder.path)
    const rows = (): Promise<{ offset: string }[]> =>
      query(postgres.url, `SELECT "offset" FROM ${schema}.events ORDER BY "offset"`)
    {
      await using service = await startInProcess(configuration(), { folder: folder.path })
      for (const n of [1, 2, 3]) expect(await post(service, { n })).toBe(200)
    }
    await query(postgres.url, `UPDATE ${schema}.records SET at = at - interval '2 hours' WHERE "offset" < 2`)
    await using service = await startInProcess(configuration("retention = 1h"), { folder: folder.path })
    while ((await rows()).length > 1) await Bun.sleep(LOOK_MS)
    expect(await rows()).toEqual([{ offset: "2" }])
    await query(postgres.url, `UPDATE ${schema}.records SET at = at - interval '2 hours'`)
    while ((await rows()).length > 0) await Bun.sleep(LOOK_MS)
    expect(await post(service, { n: 4 })).toBe(200)
    expect(await rows()).toEqual([{ offset: "3" }])
    expect((await hooklineInProcess(["topics"], { cwd: folder.path })).stdout).toMatch(/db\/hooks +1 +1 /)
  })

  test("a server that stops answering is 503 by the deadline, and used again when it goes on", async () => {
    using folder = temporaryFolder()
    await initialize(folder.path)
    await using service = await startInProcess(configuration("delivery_timeout = 1s"), {
      folder: folder.path,
    })
    expect(await post(service, { n: 1 })).toBe(200)
    postgres.signalAll("SIGSTOP")
    try {
      expect(await post(service, { n: 2 })).toBe(503)
    } finally {
      postgres.signalAll("SIGCONT")
    }
    await untilTaken(service, { n: 3 })
    expect(await values()).toContainEqual(expect.objectContaining({ n: 3 }))
  })

  test("sslmode means what libpq means by it, and what is wrong with a certificate is said", async () => {
    using folder = temporaryFolder()
    await initialize(folder.path)
    const nowMs = Date.now()
    const ca = makeCertificate("a CA", { isCa: true, nowMs })
    const { pem, privateKey } = makeCertificate("localhost", { issuer: ca, hosts: ["localhost"], nowMs })
    await postgres.useTls(pem, privateKey.export({ format: "pem", type: "pkcs8" }) as string)
    await Bun.write(`${folder.path}/ca.pem`, ca.pem)
    const answer = async (host: string, sslmode: string, more = ""): Promise<string> => {
      const url = `${postgres.url.replace("127.0.0.1", host)}?sslmode=${sslmode}`
      await Bun.write(`${folder.path}/pipelines.conf`, configuration(more, url))
      const { stdout } = await hooklineInProcess(["check", "--connect"], { cwd: folder.path })
      return /^connection db: PostgreSQL at \S+ (?!schema)(.*)$/m.exec(stdout)![1]!
    }
    const trusted = "postgres_ca = ca.pem"
    // the setting is read a moment after it was changed
    while ((await answer("localhost", "require")) !== "answers") await Bun.sleep(LOOK_MS)
    expect(await answer("localhost", "verify-full", trusted)).toBe("answers")
    expect(await answer("127.0.0.1", "verify-ca", trusted)).toBe("answers")
    expect(await answer("127.0.0.1", "verify-full", trusted)).toContain("is for another host")
    expect(await answer("localhost", "verify-full")).toContain("set postgres_ca to its CA")
    expect(await answer("localhost", "disable")).toBe("answers")
    await postgres.set("ssl", null)
    while ((await answer("localhost", "require")) === "answers") await Bun.sleep(LOOK_MS)
    expect(await answer("localhost", "require")).toContain("does not offer TLS")
  })

  test("a service starts before its database, says why it can't publish, and needs no restart", async () => {
    using folder = temporaryFolder()
    await using later = await makePostgres()
    const text = configuration("delivery_timeout = 1s", later.url)
    await using service = await startInProcess(text, { folder: folder.path })
    expect(await ready(service)).toContain("refuses connections")
    expect(await post(service, { n: 1 })).toBe(503)
    later.start()
    await later.answers()
    await untilReady(service, "no log in schema")
    expect((await hooklineInProcess(["db", "init"], { cwd: folder.path })).status).toBe(0)
    await untilTaken(service, { n: 2 })
    const { stdout } = await hooklineInProcess(["check", "--connect"], { cwd: folder.path })
    expect(stdout).toContain("a commit is on the disk of this server")
  })
})
