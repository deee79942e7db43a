import { expect, test } from "bun:test"
import { join } from "node:path"
import { hooklineInProcess } from "../support/command-in-process.ts"
import { reload, startHookline, temporaryFolder, type Started } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import { until } from "../support/kafka-options.ts"
import { valuesInLog } from "../support/log-values.ts"
import { checked } from "../support/problems-in.ts"
import { Receiver } from "../support/receiver.ts"
import { startCommand } from "../support/running-command.ts"

const configuration = (url: string, more = "", sink = "key = json:/k", rest = ""): string => `
[connection:log]
directory = log
[pipeline:hooks:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:hooks:BrokerSink]
topic = hooks
${sink}
[forward:app]
from = log/hooks
url = ${url}
${more}
${rest}`

/** Posts webhooks, whose keys are given, each accepted before the next. */
async function post(service: Started, ...keys: string[]): Promise<void> {
  for (const k of keys) {
    const { status } = await fetch(service.urls["hooks"]!, { method: "POST", body: JSON.stringify({ k }) })
    expect(status).toBe(200)
  }
}

const keysOf = (receiver: Receiver): string[] =>
  receiver.all.map(({ body }) => (JSON.parse(body.toString()) as { k: string }).k)

const overviewOf = async (service: Started): Promise<{ forwards: object[]; problems: object[] }> =>
  (await fetch(`${service.adminUrl}/api/overview`)).json() as never

test("a section posts what is published from its start on, continues after kill -9, and a reload keeps or moves it", async () => {
  using folder = temporaryFolder()
  await using receiver = new Receiver()
  const text = configuration(receiver.url)
  {
    await using service = await startHookline(text, { folder: folder.path })
    await post(service, "a", "b")
    await receiver.count(2)
    await receiver.down()
    await post(service, "c", "d")
    service.signal("SIGKILL")
    await service.exited
  }
  receiver.up()
  await using moved = new Receiver()
  await using service = await startInProcess(text, { folder: folder.path })
  await receiver.offset(3)
  // the one before the kill may come again
  expect([...new Set(keysOf(receiver))]).toEqual(["a", "b", "c", "d"])
  expect(await reload(service, folder.path, configuration(moved.url, "concurrency = 4"))).toBe("reloaded")
  const line = service.log.find(({ msg }) => msg === "reloaded")
  expect(line).toMatchObject({ forwards_changed: ["app"] })
  expect(line).not.toHaveProperty("reconciles_changed")
  await post(service, "e")
  await moved.count(1)
  expect([keysOf(receiver).at(-1), keysOf(moved)]).toEqual(["d", ["e"]])
})

/** Awaits that a refused record is listed, which it is a moment after its log line. */
const listed = (
  run: (...args: string[]) => Promise<{ readonly stdout: string }>,
  offset: number,
): Promise<void> =>
  until(`offset ${offset} is listed`, async () =>
    (await run("failures", "app", "--json")).stdout.includes(`"offset":${offset},`),
  )

test("a record that is refused alone is parked, published to the dead letters, listed, and retried", async () => {
  using folder = temporaryFolder()
  let refuses = true
  await using receiver = new Receiver(({ body }) =>
    refuses && body.includes("poison") ? new Response("no such customer", { status: 422 }) : new Response(),
  )
  await using service = await startInProcess(configuration(receiver.url, "dead_letter_topic = refused"), {
    folder: folder.path,
  })
  await post(service, "a", "poison", "poison 2", "b")
  await service.logged(({ msg, offset }) => msg === "record refused" && offset === 1)
  await service.logged(({ msg, offset }) => msg === "record refused" && offset === 2)
  const run = (...args: string[]) => hooklineInProcess(["forward", ...args], { cwd: folder.path })
  await listed(run, 2)
  expect((await run("failures", "app")).stdout).toContain("422: no such customer")
  // what it waited for is written a moment after the record
  await until("listed as running", async () =>
    /app +log\/hooks +\S+ +2 +2 +running/.test((await run("list")).stdout),
  )
  expect(await valuesInLog(join(folder.path, "log"), "refused")).toHaveLength(2)
  expect(await run("drop", "app")).toMatchObject({ status: 64, stdout: "" })
  expect(await run("drop", "app", "--offset", "0:9")).toMatchObject({
    status: 66,
    stderr: expect.stringContaining(
      "no refused record has the offset 0:9; see hookline forward failures app",
    ),
  })
  await post(service, "poison 3", "c")
  await listed(run, 4)
  expect(await run("drop", "app", "--offset", "0:4")).toMatchObject({
    status: 0,
    stdout: "1 record removed from the list\n",
  })
  refuses = false
  expect(await run("retry", "app")).toMatchObject({ status: 0, stdout: "hooks[0]@1 200\nhooks[0]@2 200\n" })
  await until("all others are delivered", async () =>
    JSON.stringify((await overviewOf(service)).forwards).includes('"delivered":3,'),
  )
  expect((await overviewOf(service)).forwards).toMatchObject([
    { id: "app", from: "log/hooks", delivered: 3, refused: 3, lag: 0, problem: null },
  ])
  const metrics = await (await fetch(`${service.adminUrl}/metrics`)).text()
  expect(metrics).toContain('hookline_forward_refused_records{forward="app"} 3')
})

test("a retry posts as the section does: signed, with its headers, to its URL; a list needs none of its secrets", async () => {
  using folder = temporaryFolder()
  let refuses = true
  await using receiver = new Receiver(({ headers, body }) => {
    const isOurs =
      headers.has("webhook-signature") && headers.get("authorization") === "Bearer obviously-fake"
    return new Response("", { status: !isOurs ? 401 : refuses && body.includes("poison") ? 422 : 200 })
  })
  const secret = `whsec_${Buffer.from("obviously-fake-secret-of-32-bytes").toString("base64")}`
  const signed = `sign = standard-webhooks\nsecret = ${secret}\nheaders = Authorization: Bearer obviously-fake`
  await using service = await startInProcess(configuration(receiver.url, signed), { folder: folder.path })
  await post(service, "a", "poison", "b")
  await service.logged(({ msg, reason }) => msg === "record refused" && reason === "422")
  refuses = false
  const unset = configuration(receiver.url, signed.replace(secret, "${NOT_SET_ANYWHERE}"))
  await Bun.write(join(folder.path, "unset.conf"), unset)
  const run = (...args: string[]) =>
    hooklineInProcess(["forward", ...args, "-c", "unset.conf"], { cwd: folder.path })
  await listed(run, 1)
  expect(await run("failures", "app")).toMatchObject({ status: 0, stdout: expect.stringContaining("422") })
  expect(await run("retry", "app")).toMatchObject({
    status: 78,
    stderr: expect.stringContaining("[forward:app] secret: environment variable NOT_SET_ANYWHERE is not set"),
  })
  for (const [line, problem] of [
    ["url = ftp://app.test/", "[forward:app] url: the target is not an http or https URL"],
    ["tls_ca = missing.pem", `tls_ca: ${join(folder.path, "missing.pem")} does not exist`],
  ]) {
    const wrong = configuration(receiver.url, `${signed}\n${line}`)
    await Bun.write(
      join(folder.path, "unset.conf"),
      wrong.replace(line!.startsWith("url") ? /^url = h.*$/m : "", ""),
    )
    expect(await run("retry", "app")).toMatchObject({ status: 78, stderr: expect.stringContaining(problem!) })
  }
  expect(await hooklineInProcess(["forward", "retry", "app"], { cwd: folder.path })).toMatchObject({
    status: 0,
    stdout: "hooks[0]@1 200\n",
  })
})

test("while all are refused nothing is parked before park_after, and nothing is lost", async () => {
  using folder = temporaryFolder()
  let isDeploying = true
  await using receiver = new Receiver(() => new Response("", { status: isDeploying ? 404 : 200 }))
  await using service = await startInProcess(configuration(receiver.url, "concurrency = 2"), {
    folder: folder.path,
  })
  await post(service, "a", "b", "c", "d", "e")
  await receiver.count(6)
  isDeploying = false
  await receiver.count(6 + 5)
  expect(keysOf(receiver).slice(-5).toSorted()).toEqual(["a", "b", "c", "d", "e"])
  expect(service.log.some(({ msg }) => msg === "record refused")).toBe(false)
})

test("a record that fails each time is refused after its retries, also once the rest of its window is accepted", async () => {
  using folder = temporaryFolder()
  await using receiver = new Receiver(({ body }) =>
    body.includes("poison") ? new Response("", { status: 500 }) : new Response(),
  )
  await using service = await startInProcess(configuration(receiver.url, "retries = 3"), {
    folder: folder.path,
  })
  const others = Array.from({ length: 40 }, (_, n) => `k${n}`)
  await post(service, "poison", ...others)
  await service.logged(({ msg, offset }) => msg === "record refused" && offset === 0)
  while (!keysOf(receiver).includes(others.at(-1)!)) await receiver.count(receiver.all.length + 1)
  expect(keysOf(receiver).filter((key) => key !== "poison")).toEqual(others)
})

test("a section that is changed, moved, removed and added while records are in flight skips none, and keeps the order of each key", async () => {
  using folder = temporaryFolder()
  let answering = Promise.withResolvers<void>()
  let arrived = Promise.withResolvers<void>()
  const first = new Map<string, number[]>()
  const answer: Receiver["answer"] = async ({ body }) => {
    const { k, n } = JSON.parse(body.toString()) as { k: string; n: number }
    const before = first.getOrInsertComputed(k, () => [])
    // one that was given up may come again
    if (!before.includes(n)) before.push(n)
    arrived.resolve()
    await answering.promise
    return new Response()
  }
  await using a = new Receiver(answer)
  await using b = new Receiver(answer)
  const to = ({ url }: Receiver, concurrency: number) => configuration(url, `concurrency = ${concurrency}`)
  const without = to(a, 1).split("[forward:app]")[0]!
  const begins = ({ msg }: { msg?: unknown }): boolean => `${msg}`.startsWith("forwarding log/hooks to")
  await using service = await startInProcess(to(a, 4), { folder: folder.path })
  let posted = 0
  const postSome = async (): Promise<void> => {
    for (const end = posted + 30; posted < end; posted++) {
      const body = JSON.stringify({ k: `k${posted % 7}`, n: posted })
      expect((await fetch(service.urls["hooks"]!, { method: "POST", body })).status).toBe(200)
    }
  }
  for (const next of [to(a, 8), to(b, 3), without, to(b, 1), to(a, 4)]) {
    arrived = Promise.withResolvers()
    await postSome()
    if (next !== to(b, 1)) await arrived.promise
    expect(await reload(service, folder.path, next)).toBe("reloaded")
    // the first time none is answered in time, and all are given up
    if (posted === 30) await service.logged((line) => begins(line) && line !== service.log.find(begins))
    answering.resolve()
    answering = Promise.withResolvers()
  }
  answering.resolve()
  const count = (): number => [...first.values()].flat().length
  while (count() < posted) {
    arrived = Promise.withResolvers()
    await arrived.promise
  }
  for (const order of first.values()) expect(order).toEqual(order.toSorted((x, y) => x - y))
})

test("a paused section posts nothing until it is resumed, across a reload that changes it and a restart", async () => {
  using folder = temporaryFolder()
  await using receiver = new Receiver()
  const text = configuration(receiver.url)
  const run = (...args: string[]) => hooklineInProcess(["forward", ...args], { cwd: folder.path })
  const act = async (service: Started, id: string, action: string): Promise<number> =>
    (await fetch(`${service.adminUrl}/api/forwards/${id}/${action}`, { method: "POST" })).status
  const paused = ({ msg }: { msg?: unknown }): boolean => msg === "forwarding paused"
  {
    await using service = await startInProcess(text, { folder: folder.path })
    await post(service, "a")
    await receiver.count(1)
    expect(await run("pause", "nobody")).toMatchObject({ status: 66 })
    expect(await run("pause", "app")).toMatchObject({ status: 0, stdout: "app paused\n" })
    await service.logged(paused)
    await post(service, "b", "c")
    expect(await reload(service, folder.path, configuration(receiver.url, "concurrency = 4"))).toBe(
      "reloaded",
    )
    await service.logged((line) => paused(line) && line !== service.log.find(paused))
    expect((await run("list")).stdout).toMatch(/app .* paused/)
    const metrics = await (await fetch(`${service.adminUrl}/metrics`)).text()
    expect(metrics).toContain('hookline_forward_paused{forward="app"} 1')
    expect(await overviewOf(service)).toMatchObject({
      forwards: [{ id: "app", paused: true, problem: null, lag: 2 }],
      problems: [{ cause: "Forward app is paused, and records wait." }],
    })
  }
  expect((await run("list")).stdout).toMatch(/app .* stopped, paused/)
  await using service = await startInProcess(text, { folder: folder.path })
  await service.logged(paused)
  await post(service, "d")
  expect(await act(service, "nobody", "resume")).toBe(404)
  expect(keysOf(receiver)).toEqual(["a"])
  expect(await act(service, "app", "resume")).toBe(204)
  await receiver.count(4)
  expect(keysOf(receiver)).toEqual(["a", "b", "c", "d"])
  await until("listed as running", async () => /app .* running/.test((await run("list")).stdout))
})

const WARNING = "retention will soon delete waiting records, starting at hooks[0]@0"

test("a record that waits and that retention is about to delete is warned of", async () => {
  using folder = temporaryFolder()
  await using receiver = new Receiver(() => new Response("", { status: 503 }))
  const text = configuration(receiver.url).replace("directory = log", "directory = log\nretention = 10s")
  await using service = await startInProcess(text, { folder: folder.path })
  const warned = service.logged(({ msg }) => msg === WARNING).then(() => true)
  // on a slow machine the first record may be gone before it is looked for
  do await post(service, "a")
  while (!(await Promise.race([warned, Bun.sleep(1000)])))
})

test("while a section has an error, the others are still listed and retried", async () => {
  using folder = temporaryFolder()
  await using receiver = new Receiver()
  const text = configuration(receiver.url)
  await using service = await startInProcess(text, { folder: folder.path })
  await post(service, "a")
  await receiver.count(1)
  const run = (...args: string[]) =>
    hooklineInProcess(["forward", ...args, "-c", "wrong.conf"], { cwd: folder.path })
  // what it waited for at its start is written a moment later
  const list = () => hooklineInProcess(["forward", "list"], { cwd: folder.path })
  await until("listed as running", async () => /app .* running/.test((await list()).stdout))
  for (const [lines, problem] of [
    ["url = http://app.test/", "[forward:wrong] from: is missing"],
    ["from = nowhere/hooks\nurl = http://app.test/", "[forward:wrong] from: unknown connection nowhere"],
  ]) {
    await Bun.write(join(folder.path, "wrong.conf"), `${text}\n[forward:wrong]\n${lines}`)
    const listed = await run("list")
    expect(listed).toMatchObject({ status: 78, stderr: expect.stringContaining(problem!) })
    expect(listed.stdout).toMatch(/app .* running/)
    expect(await run("retry", "app")).toMatchObject({ status: 0 })
    expect(await run("failures", "wrong")).toMatchObject({ status: 78 })
  }
})

test("a waiting record that retention_bytes is about to delete is warned of", async () => {
  using folder = temporaryFolder()
  await using receiver = new Receiver(() => new Response("", { status: 503 }))
  const text = configuration(receiver.url, "begin = beginning").replace(
    "directory = log",
    "directory = log\nretention_bytes = 64KiB",
  )
  const [before] = text.split("[forward:app]")
  await using service = await startInProcess(before!, { folder: folder.path })
  // 56 KB, as each is in the key and in the value
  await post(service, ...Array.from({ length: 5 }, (_, n) => `${n}`.repeat(5600)))
  expect(await reload(service, folder.path, text)).toBe("reloaded")
  await service.logged(({ msg }) => msg === WARNING)
})

test("a position of hookline forward under the section's id is taken over, and the command refuses the id", async () => {
  using folder = temporaryFolder()
  await using receiver = new Receiver()
  const [before] = configuration(receiver.url).split("[forward:app]")
  const file = join(folder.path, "pipelines.conf")
  {
    await using service = await startInProcess(before!, { folder: folder.path })
    await post(service, "a", "b", "c")
  }
  {
    const flags = ["--name", "app", "--begin", "beginning"]
    await using forwarding = startCommand(["forward", "log/hooks", receiver.url, ...flags], folder.path)
    await forwarding.printed(/hooks\[0\]@2 200/)
    forwarding.signal("SIGTERM")
    expect(await forwarding.exited).toBe(0)
  }
  await Bun.write(file, configuration(receiver.url))
  await using service = await startInProcess(configuration(receiver.url), { folder: folder.path })
  await post(service, "d")
  await receiver.count(4)
  expect(keysOf(receiver)).toEqual(["a", "b", "c", "d"])
  const refused = await hooklineInProcess(["forward", "log/hooks", receiver.url, "--name", "app"], {
    cwd: folder.path,
  })
  expect(refused).toMatchObject({ status: 64, stderr: expect.stringContaining("[forward:app]") })
})

test("a file may have no pipeline, where it has a section that posts", async () => {
  using folder = temporaryFolder()
  const section = `[forward:app]${configuration("http://127.0.0.1:9/hook").split("[forward:app]")[1]}`
  await Bun.write(join(folder.path, "pipelines.conf"), `[connection:log]\ndirectory = log\n${section}`)
  expect(await hooklineInProcess(["check"], { cwd: folder.path })).toMatchObject({ status: 0 })
})

test.each([
  ["from = nowhere/hooks", "from: unknown connection"],
  ["from = log", "from: "],
  ["url = http://169.254.169.254/latest", "url: 169.254.169.254 is a link-local or cloud metadata address"],
  ["url = ftp://app.test/", "url: the target is not an http or https URL"],
  ["where = nothing", "where: Expected json:/pointer=pattern"],
  ["headers = a", "headers: its value has a line that is not `Name: value`"],
  ["sign = provider\nsecret = x", "provider: is required by sign = provider"],
  ["sign = provider\nsecret = x\nprovider = strype", "provider: unknown provider; did you mean stripe?"],
  ["sign = standard-webhooks\nsecret = *", "secret: "],
  ["sign = as_received", "sign: pipeline hooks publishes enriched bodies"],
  ["dead_letter_topic = hooks", "dead_letter_topic: is the topic that is forwarded"],
  ["tls_ca = missing.pem", "missing.pem does not exist"],
  ["tls_certificate = pipelines.conf\ntls_key = pipelines.conf", "no PEM certificate in it"],
  ["on_refusal = skip\npark_after = 5m", "park_after: has no effect with on_refusal = skip"],
])("check refuses %j", async (lines, expected) => {
  using folder = temporaryFolder()
  const given = new Set(lines.split("\n").map((line) => line.split(" ")[0]))
  const kept = configuration("http://127.0.0.1:9/hook")
    .split("\n")
    .filter((line) => !given.has(line.split(" ")[0]))
  const sink = kept.indexOf("topic = hooks")
  await Bun.write(join(folder.path, "pipelines.conf"), [...kept.slice(0, sink + 99), lines].join("\n"))
  const { error } = await checked(join(folder.path, "pipelines.conf"))
  expect([error?.message, error?.exitCode]).toEqual([expect.stringContaining(expected), 78])
})
