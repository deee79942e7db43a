import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { fillLog, openLog, recordsInLog } from "../support/embedded-log.ts"
import { hookline, startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { freePort } from "../support/ports.ts"
import { Receiver } from "../support/receiver.ts"
import { startCommand, type RunningCommand } from "../support/running-command.ts"

const CONFIGURATION = `[connection:log]
directory = log
[pipeline:payments:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:payments:BrokerSink]
topic = payments
[admin]
listen = off
`
const folder = temporaryFolder()
let receiver: Receiver
beforeEach(async () => {
  receiver = new Receiver()
  await Bun.write(join(folder.path, "pipelines.conf"), CONFIGURATION)
})
afterEach(async () => {
  await receiver[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const startService = (): Promise<RunningHookline> => startHookline(CONFIGURATION, { folder: folder.path })
const run = (...args: string[]) => hookline(["forward", ...args], { cwd: folder.path })
const start = (...args: string[]): RunningCommand => startCommand(["forward", ...args], folder.path)
const upTo = (count: number, first = 0): number[] => Array.from({ length: count }, (_, n) => first + n)

/** Posts that many webhooks, each accepted. */
async function post(service: RunningHookline, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const answer = await fetch(service.urls["payments"]!, { method: "POST", body: `{"type":"paid.${n}"}` })
    expect(answer.status).toBe(200)
  }
}

/** Records of a log that no service writes. */
const fill = (count: number): Promise<void> =>
  fillLog(
    join(folder.path, "log"),
    "payments",
    upTo(count).map((n) => ({ value: Buffer.from(`{"type":"paid.${n}"}`) })),
  )

/** What was taken; a record that came again right after itself counts once. */
const inOrder = (): number[] => receiver.offsets.filter((offset, at, all) => offset !== all[at - 1])

describe("all events are delivered, in order,", () => {
  test("that came while the process was stopped, by SIGTERM, SIGINT or kill -9", async () => {
    await using service = await startService()
    await post(service, 10)
    let posted = 10
    for (const signal of ["SIGTERM", "SIGINT", "SIGKILL", "SIGKILL"] as const) {
      await using forwarding = start("log/payments", receiver.url, "--begin", "beginning")
      await receiver.offset(posted - 1)
      await post(service, 5)
      posted += 5
      await receiver.reached(posted - 3)
      forwarding.signal(signal)
      expect(await forwarding.exited).toBe(signal === "SIGKILL" ? "SIGKILL" : 0)
      // the laptop sleeps
      await post(service, 10)
      posted += 10
    }
    await using forwarding = start("log/payments", receiver.url)
    await receiver.offset(posted - 1)
    expect(await forwarding.printed(/forwarding log\/payments to \S+, \d+ waiting\n/)).not.toContain("--from")
    expect(inOrder()).toEqual(upTo(posted))
    // only what was under way at a kill
    expect(receiver.all.length - posted).toBeLessThanOrEqual(2)
  })

  test("that came while the process slept (SIGSTOP) and its connections ended", async () => {
    await using service = await startService()
    await using forwarding = start("log/payments", receiver.url, "--begin", "beginning")
    await post(service, 3)
    await receiver.offset(2)
    forwarding.signal("SIGSTOP")
    await post(service, 20)
    await receiver.down()
    receiver.up()
    expect(receiver.all).toHaveLength(3)
    forwarding.signal("SIGCONT")
    await receiver.offset(22)
    await post(service, 1)
    await receiver.offset(23)
    expect(inOrder()).toEqual(upTo(24))
  })

  test("though the target is down, overloaded, fails, or breaks off", async () => {
    await fill(12)
    const failing = new Map<number, (() => Response)[]>([
      [2, [() => new Response("oops\u001b[2J", { status: 500 }), () => new Response("", { status: 503 })]],
      [4, [() => new Response("", { status: 429, headers: { "retry-after": "1" } })]],
      [5, [() => new Response("", { status: 503 }), () => new Response("", { status: 503 })]],
      [6, [() => new Response("who are you", { status: 401 })]],
    ])
    receiver.answer = async ({ offset }) => {
      const answer = failing.get(offset)?.shift()
      if (offset === 8 && receiver.offsets.filter((it) => it === 8).length === 1) await receiver.down()
      return answer?.() ?? new Response()
    }
    await using forwarding = start("log/payments", receiver.url, "--begin", "beginning")
    await receiver.offset(8)
    await forwarding.printed(/payments\[0\]@8 .*; retrying/)
    receiver.up()
    await receiver.offset(11)
    expect(inOrder()).toEqual(upTo(12))
    const output = await forwarding.printed(/payments\[0\]@11 200/)
    expect(output).toMatch(/\n\d\d:\d\d:\d\d paid\.0 payments\[0\]@0 200 in \d+ ms\n/)
    expect(output).toMatch(/ paid\.2 payments\[0\]@2 500: oops\\u001b\[2J in \d+ ms; retrying\n/)
    // tried again for another reason is another line, for the same one it is not
    expect(output).toMatch(/ paid\.2 payments\[0\]@2 503 in \d+ ms; retrying\n/)
    expect(output.match(/@5 503/g)).toHaveLength(1)
    expect(output).toMatch(/ paid\.2 payments\[0\]@2 200 in \d+ ms\n/)
    expect(output).toMatch(/ paid\.6 payments\[0\]@6 401: who are you in \d+ ms; retrying\n/)
    const { stdout } = await run("failures", "log-payments", "--json")
    expect(stdout).toBe("")
    expect(readFileSync(join(folder.path, ".hookline/.gitignore"), "utf8")).toBe("*\n")
  })
})

test("a new forward begins with what is new, or with what its topic gets first", async () => {
  await using early = start("log/later", receiver.url)
  await early.printed(/waiting: There is no log in/)
  await fill(5)
  await early.printed(/waiting: The log has no topic later/)
  await using forwarding = start("log/payments", receiver.url)
  await forwarding.printed(
    /^forwarding log\/payments to http:\/\/127\.0\.0\.1:\d+\/hook, leaving out 5 older records;/,
  )
  await fill(2)
  await receiver.offset(6)
  expect(receiver.offsets).toEqual([5, 6])
  await fillLog(join(folder.path, "log"), "later", [{ value: Buffer.from("{}") }])
  await early.printed(/- later\[0\]@0 200/)
})

test("the type is the provider's, or a CloudEvent's", async () => {
  const configuration = CONFIGURATION.replace(
    "[pipeline:payments:BrokerSink]",
    "[pipeline:payments:Verifier]\nprovider = github\nsecret = ${NOT_SET}\n[pipeline:payments:BrokerSink]",
  )
  await Bun.write(join(folder.path, "pipelines.conf"), configuration)
  const records = [
    { value: Buffer.from('{"type":"a"}'), headers: [["ce_type", Buffer.from("com.example.b")] as const] },
    { value: Buffer.from("not json"), headers: [] },
  ]
  await fillLog(join(folder.path, "log"), "payments", records)
  await using forwarding = start("log/payments", receiver.url, "--begin", "beginning")
  await forwarding.printed(/ com\.example\.b payments\[0\]@0 200 /)
  await forwarding.printed(/ - payments\[0\]@1 200 /)
})

describe("a record that the target refuses", () => {
  const refuseOdd = (): void => {
    receiver.answer = ({ offset }) =>
      offset % 2 === 1 ? new Response("odd", { status: 422 }) : new Response()
  }

  test("is posted again --retries times, then kept among the failures, which can be posted again", async () => {
    await fill(4)
    refuseOdd()
    await using forwarding = start("log/payments", receiver.url, "--begin", "beginning", "--retries", "1")
    await forwarding.printed(/payments\[0\]@3 422: odd in \d+ ms; refused\n/)
    expect(receiver.offsets).toEqual([0, 1, 1, 2, 3, 3])

    const list = async () =>
      JSON.parse((await run("list", "--json")).stdout) as [{ offsets: unknown; last_error: unknown }]
    // a process notes each second whether it retries
    await until("the position is saved, and that nothing is retried", async () => {
      const [{ offsets, last_error }] = await list()
      return Bun.deepEquals(offsets, { 0: 4 }) && last_error === null
    })
    expect<unknown>(await list()).toEqual([
      {
        name: "log-payments",
        connection: "log",
        topic: "payments",
        url: receiver.url,
        forwarded: 2,
        last_error: null,
        failures: 2,
        offsets: { 0: 4 },
        retrying_since: null,
        paused: false,
        running: true,
      },
    ])
    const table = await run("failures", "log-payments")
    expect(table.stdout).toMatch(
      /^PARTITION +OFFSET +TIME +REFUSED AT +REASON\n +0 +1 .* 422: odd\n +0 +3 .* 422: odd\n$/,
    )
    const json = (await run("failures", "log-payments", "--json")).stdout.trim().split("\n")
    expect(json.map((line) => JSON.parse(line) as object)).toMatchObject([
      { partition: 0, offset: 1, reason: "422: odd" },
      { partition: 0, offset: 3, reason: "422: odd" },
    ])

    receiver.all.length = 0
    receiver.answer = ({ offset }) => new Response("still", { status: offset === 3 ? 400 : 200 })
    const retried = await run("retry", "log-payments")
    expect([retried.status, retried.stderr]).toEqual([1, ""])
    expect(retried.stdout).toBe("payments[0]@1 200\npayments[0]@3 400: still\n")
    receiver.answer = () => new Response()
    expect(await run("retry", "log-payments")).toMatchObject({ status: 0, stdout: "payments[0]@3 200\n" })
    expect(receiver.offsets).toEqual([1, 3, 3])
    expect((await run("list")).stdout).toMatch(/log-payments +log\/payments +\S+ +2 +0 +running\n$/)
    // and it continues meanwhile
    await fill(1)
    await receiver.offset(4)
  })

  test("is not looked for in another log", async () => {
    await fill(2)
    refuseOdd()
    {
      await using forwarding = start("log/payments", receiver.url, "--begin", "beginning", "--retries", "0")
      await forwarding.printed(/@1 422: odd in \d+ ms; refused\n/)
    }
    renameSync(join(folder.path, "log"), join(folder.path, "former"))
    await fill(2)
    receiver.all.length = 0
    const { status, stderr } = await run("retry", "log-payments")
    expect([status, stderr]).toEqual([
      64,
      expect.stringContaining("connection log leads to another log than the one"),
    ])
    expect(receiver.all).toEqual([])
    expect((await run("failures", "log-payments", "--json")).stdout.trim().split("\n")).toHaveLength(1)
    rmSync(join(folder.path, "former"), { recursive: true })
  })

  test("ends the forward with --on-refusal stop, and is the first one of the next run", async () => {
    await fill(3)
    refuseOdd()
    const args = [
      "log/payments",
      receiver.url,
      "--begin",
      "beginning",
      "--on-refusal",
      "stop",
      "--retries",
      "0",
    ]
    const { status, stderr } = await run(...args)
    expect(status).toBe(77)
    expect(stderr).toContain("payments[0]@1 was refused: 422: odd")
    receiver.answer = () => new Response()
    await using forwarding = start("log/payments", receiver.url)
    await forwarding.printed(/@2 200/)
    expect(receiver.offsets).toEqual([0, 1, 1, 2])
  })
})

test("one process at a time forwards under a name; another name has a position of its own", async () => {
  await fill(2)
  await using forwarding = start("log/payments", receiver.url, "--begin", "beginning")
  await forwarding.printed(/@1 200/)
  const second = await run("log/payments", receiver.url)
  expect(second.status).toBe(69)
  expect(second.stderr).toMatch(
    /^The position of forward log-payments is being written to by process \d+.*; stop that one, or name another --name\n\(see hookline help log_locked\)\n$/,
  )
  const removed = await run("remove", "log-payments")
  expect(removed.status).toBe(69)
  await using other = start("log/payments", receiver.url, "--name", "other", "--begin", "beginning")
  await other.printed(/@1 200/)
  expect(receiver.offsets).toEqual([0, 1, 0, 1])
})

test("a name keeps its topic, and may have another URL; once removed it is new", async () => {
  await fill(2)
  const begin = async (...args: string[]): Promise<string> => {
    await using forwarding = start(...args)
    const output = await forwarding.printed(/forwarding log\/payments/)
    forwarding.signal("SIGTERM")
    await forwarding.exited
    return output
  }
  expect(await begin("log/payments", `${receiver.url}?token=secret`, "--name", "mine")).toContain(
    ", leaving out 2 older records; --begin beginning posts them, too\n",
  )
  const other = await run("log/other", receiver.url, "--name", "mine")
  expect([other.status, other.stderr]).toEqual([
    64,
    "mine forwards log/payments; choose another --name\n(see hookline forward --help)\n",
  ])
  const moved = await begin("log/payments", receiver.url, "--name", "mine", "--begin", "end")
  expect(moved).toContain(`mine was posted to ${receiver.url}?… before; it continues from there\n`)
  expect(moved).toContain(
    "mine continues where it stopped; to begin at the end, run hookline forward remove mine first\n",
  )
  expect(moved).not.toContain("secret")
  expect(receiver.all).toHaveLength(0)
  {
    // elsewhere than before, it begins there; and once only, as a restart has the same words
    await using again = start("log/payments", receiver.url, "--name", "mine", "--begin", "beginning")
    expect(await again.printed(/forwarding .*\n/)).toContain("mine begins again at the beginning\n")
    await receiver.offset(1)
    again.signal("SIGTERM")
    await again.exited
  }
  const restarted = await begin("log/payments", receiver.url, "--name", "mine", "--begin", "beginning")
  expect(restarted).toContain("mine continues where it stopped")
  expect(inOrder()).toEqual(upTo(2))
  expect(await run("remove", "mine")).toMatchObject({ status: 0, stdout: "mine removed\n" })
  expect(readdirSync(join(folder.path, ".hookline/forwards"))).toEqual([])
  expect(await run("list", "--json")).toMatchObject({ status: 0, stdout: "[]\n" })
  expect(await begin("log/payments", receiver.url, "--name", "mine", "--begin", "beginning")).toContain(
    ", 2 waiting\n",
  )
})

describe("a pipeline that publishes to the topic again", () => {
  test("is refused where the configuration has it at that URL", async () => {
    const port = await freePort()
    const fixed = CONFIGURATION.replace("port = 0", `port = ${port}\npath = /in/*`)
    await using service = await startHookline(fixed, { folder: folder.path })
    await post(service, 1)
    const { status, stderr } = await run("log/payments", `http://localhost:${port}/in/payments`)
    expect(status).toBe(64)
    expect(stderr).toStartWith(
      `http://localhost:${port}/in/payments is pipeline payments of this configuration, which publishes to log/payments: each record posted there would come back.`,
    )
    // another topic's records may go there
    await using other = start("log/others", `http://localhost:${port}/in/payments`)
    await other.printed(/waiting: The log has no topic others/)
  })
})

test("the list says what a forward is doing: while the target is down since when it retries, and why", async () => {
  await fill(1)
  const url = `http://127.0.0.1:${await freePort()}/in`
  const state = async () => {
    const [{ running, retrying_since, last_error }] = JSON.parse((await run("list", "--json")).stdout)
    return { running, retrying_since, last_error }
  }
  const begun = Date.now()
  await using forwarding = start("log/payments", url, "--begin", "beginning")
  await forwarding.printed(/connection refused .*; retrying/)
  await until("the error is listed", async () => (await state()).last_error !== null)
  const waiting = await state()
  expect(waiting).toMatchObject({ running: true, last_error: "connection refused" })
  expect(Date.parse(waiting.retrying_since)).toBeWithin(begun, Date.now())
  expect((await run("list")).stdout).toMatch(/ retrying since \d{4}-\S+Z: connection refused\n/)
  await using target = Bun.serve({
    port: new URL(url).port,
    hostname: "127.0.0.1",
    fetch: () => new Response(),
  })
  expect(target.url.port).toBe(new URL(url).port)
  await forwarding.printed(/@0 200/)
  await until("no error is listed", async () => (await state()).last_error === null)
  expect((await run("list")).stdout).toMatch(/ running\n/)
  forwarding.signal("SIGKILL")
  await forwarding.exited
  expect(await state()).toEqual({ running: false, retrying_since: null, last_error: null })
})

test("positions are readable by their owner alone", async () => {
  await fill(1)
  await using forwarding = start("log/payments", receiver.url, "--begin", "beginning")
  await forwarding.printed(/@0 200/)
  const forwards = join(folder.path, ".hookline/forwards")
  for (const path of [forwards, ...readdirSync(forwards).map((name) => join(forwards, name))])
    expect([path, statSync(path).mode & 0o077]).toEqual([path, 0])
})

describe("what is no longer in the log is named,", () => {
  test("when retention deleted it while the target was down", async () => {
    await fill(200)
    receiver.answer = () => new Response("", { status: receiver.all.length < 3 ? 503 : 200 })
    await using forwarding = start("log/payments", receiver.url, "--begin", "beginning")
    await receiver.count(1)
    const directory = join(folder.path, "log")
    const writer = openLog(directory, { retention_bytes: 100 })
    await until("retention", async () => (await recordsInLog(directory, "payments")).length < 20)
    await writer.close()
    await receiver.offset(199)
    const [, count, from] =
      /payments\[0\]: the (\d+) records from offset (\d+) on were deleted before they were forwarded\n/.exec(
        await forwarding.printed(/were deleted before/),
      )!
    const missing = upTo(Number(count), Number(from))
    expect([...new Set(inOrder()), ...missing].toSorted((a, b) => a - b)).toEqual(upTo(200))
  })

  test("when it was deleted while the process was stopped, and when the log is another one", async () => {
    await fill(50)
    const directory = join(folder.path, "log")
    const goOn = async (pattern: RegExp): Promise<void> => {
      await using forwarding = start("log/payments", receiver.url, "--begin", "beginning")
      await forwarding.printed(pattern)
    }
    receiver.answer = ({ offset }) => new Response("", { status: offset === 10 ? 503 : 200 })
    await goOn(/@10 503/)
    receiver.answer = () => new Response()
    const writer = openLog(directory, { retention_bytes: 100 })
    await until("retention", async () => (await recordsInLog(directory, "payments")).length < 20)
    await writer.close()
    await goOn(
      /payments\[0\]: the \d+ records from offset 10 on were deleted before they were forwarded\n[^]*@49 200/,
    )
    // as many records as the one before, and more
    renameSync(directory, `${directory}.old`)
    receiver.all.length = 0
    await fill(60)
    await goOn(
      /connection log leads to another log than before: forwarding payments from its begin[^]*@59 200/,
    )
    expect(inOrder()).toEqual(upTo(60))
    rmSync(`${directory}.old`, { recursive: true })

    // a shorter one, where an earlier version has not kept the former's id
    const positions = new Database(join(folder.path, ".hookline/forwards/log-payments.sqlite"))
    positions.run("UPDATE about SET json = json_remove(json, '$.clusterId')")
    positions.close()
    renameSync(directory, `${directory}.old`)
    receiver.all.length = 0
    await fill(3)
    await goOn(
      /payments\[0\] ends before offset (?:59|60), where it was to continue: it is another log, forwarded from its beginning\n[^]*@2 200/,
    )
    expect(receiver.offsets).toEqual([0, 1, 2])
    rmSync(`${directory}.old`, { recursive: true })
  })
})

test.each([
  [["a b", "http://localhost/"], 64, "Expected CONNECTION/TOPIC"],
  [["log/payments"], 64, "missing required argument 'url'"],
  [["log/payments", "localhost:3000"], 64, "the target is not an http or https URL"],
  [["nowhere/payments", "http://localhost/"], 64, "unknown connection nowhere; the file has log"],
  [["log/payments", "http://localhost/", "--name", "a b"], 64, '"a b" can\'t be a name'],
  [["log/payments", "http://localhost/", "--retries", "x"], 64, "Expected a whole number from 0"],
  [["log/payments", "http://localhost/", "--begin", "5"], 64, "Allowed choices are beginning, end"],
  [["failures", "nobody"], 66, "The position of forward nobody is not known"],
  [["retry", "nobody"], 66, "The position of forward nobody is not known"],
  [["remove", "nobody"], 66, "The position of forward nobody is not known"],
] as const)("%j is refused", async (args, expected, message) => {
  const { status, stdout, stderr } = await run(...args)
  expect([status, stdout]).toEqual([expected, ""])
  expect(stderr).toContain(message)
})
