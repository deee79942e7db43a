import { afterAll, beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { hooklineInProcess } from "./command-in-process.ts"
import { hookline, reload, startHookline, temporaryFolder, type RunningHookline } from "./hookline.ts"
import { PROGRAM } from "./program.ts"

const root = join(import.meta.dir, "../..")

/** Tests of `tail` and `topics` on a broker that `connection` names. */
export function canBeRead(broker: () => { connection: string; topic: string }): void {
  const folder = temporaryFolder()
  const conf = ["-c", join(folder.path, "pipelines.conf")]
  let running: RunningHookline
  let topic: string

  const pipeline = (name: string, topic: string): string => `
[pipeline:${name}:WebHookSource]
host = 127.0.0.1
port = 0
path = /${name}
[pipeline:${name}:BrokerSink]
topic = ${topic}
headers = source=path
`
  /** The topic of each pipeline; `webhooks` has events 0 to 4 and no more, the others are a test's own. */
  const topicOf = (name: string): string => (name === "webhooks" ? topic : `${topic}-${name}`)
  const configuration = (...more: string[]): string => `[connection:here]
${broker().connection}
[admin]
listen = off
${["webhooks", "followed", "early", "one", "other", "piped", ...more].map((name) => pipeline(name, topicOf(name))).join("")}`

  const post = async (n: number, name = "webhooks"): Promise<void> => {
    const answer = await fetch(running.urls[name]!, {
      method: "POST",
      body: `{"n":${n},"type":"${n % 2 === 0 ? "even" : "odd"}"}`,
    })
    expect(answer.status).toBe(200)
  }
  const numbers = (printed: string): number[] =>
    [...printed.matchAll(/\{"n":(\d+),/g)].map(([, n]) => Number(n))

  beforeAll(async () => {
    topic = broker().topic
    running = await startHookline(configuration(), { folder: folder.path })
    for (let n = 0; n < 5; n++) await post(n)
  })
  afterAll(async () => {
    await running.stop()
    folder[Symbol.dispose]()
  })

  test.each([
    ["the beginning, which is the default", [], [0, 1, 2, 3, 4]],
    ["an offset", ["--offset", "3"], [3, 4]],
    ["an offset of a partition", ["--offset", "0:3"], [3, 4]],
    ["the end", ["--begin", "end"], []],
    ["the last records", ["-n", "2"], [3, 4]],
    ["more than there are", ["-n", "99"], [0, 1, 2, 3, 4]],
    ["none of the last records", ["-n", "0"], []],
    ["a time ago", ["--since", "1h"], [0, 1, 2, 3, 4]],
    ["a time to come", ["--since", "2999-01-01"], []],
    ["until a time ago", ["--until", "1h"], []],
    ["until a time to come", ["--until", "2999-01-01T00:00:00Z", "--since", "1h"], [0, 1, 2, 3, 4]],
    ["what matches", ["--where", "json:/n=3"], [3]],
    ["the last of what matches", ["--where", "json:/type=*od*", "-n", "1"], [3]],
    ["what matches all conditions", ["--where", "json:/type=odd", "--where", "json:/n=1"], [1]],
    ["an offset beyond the end", ["--offset", "99"], []],
  ] as const)("tail prints what is there from %s and ends", async (_, flags, expected) => {
    const { status, stdout, stderr } = await hooklineInProcess(["tail", topic, ...flags, ...conf])
    expect([status, stderr]).toEqual([0, ""])
    expect(numbers(stdout)).toEqual([...expected])
  })

  /** A `tail` that runs, and what it has printed. */
  function startTail(...args: string[]): {
    printed: (has: (printed: string) => boolean) => Promise<string>
    noted: () => Promise<string>
    child: Bun.Subprocess<"ignore", "pipe", "pipe">
  } {
    const child = Bun.spawn([...PROGRAM, "tail", ...args, ...conf], {
      cwd: root,
      stdout: "pipe",
      stderr: "pipe",
    })
    const lines = child.stdout.getReader()
    let printed = ""
    return {
      child,
      async printed(has) {
        while (!has(printed)) {
          const { value, done } = await lines.read()
          if (done) throw new Error(`tail ended:\n${printed}`)
          printed += Buffer.from(value).toString()
        }
        return printed
      },
      async noted() {
        const { value } = await child.stderr.getReader().read()
        return Buffer.from(value!).toString()
      },
    }
  }

  test("tail --follow prints records as they are acknowledged, and ends well at an interrupt", async () => {
    for (const n of [3, 4]) await post(n, "followed")
    const { child, printed } = startTail(topicOf("followed"), "--follow", "--offset", "1")
    const until = (n: number): Promise<string> => printed((text) => numbers(text).includes(n))
    await until(4)
    await post(100, "followed")
    await until(100)
    await post(101, "followed")
    expect(numbers(await until(101))).toEqual([4, 100, 101])
    child.kill("SIGINT")
    expect(await child.exited).toBe(0)
  })

  test("tail --follow waits for topics that do not exist yet, says so, and prints all of them", async () => {
    const [early, late] = ["early", "late"].map(topicOf) as [string, string]
    await post(4, "early")
    const { child, printed, noted } = startTail(early, late, "-n", "1", "-f", "--where", "json:/n=7*")
    expect(await noted()).toMatch(new RegExp(`^waiting: .*${late}.*\n$`))
    await post(7, "early")
    await printed((text) => numbers(text).includes(7))
    // its topic is made with the pipeline
    expect(await reload(running, folder.path, configuration("late"))).toBe("reloaded")
    await post(70, "late")
    expect(numbers(await printed((text) => numbers(text).includes(70)))).toEqual([7, 70])
    child.kill("SIGINT")
    expect(await child.exited).toBe(0)
  })

  test("tail of several topics merges them by time; json has all of a record", async () => {
    const [one, other] = ["one", "other"].map(topicOf) as [string, string]
    await post(4, "one")
    for (const [n, topic] of [
      [200, "one"],
      [201, "other"],
      [202, "one"],
    ] as const) {
      await post(n, topic)
      // in one millisecond they would have no order
      const answeredMs = Date.now()
      while (Date.now() === answeredMs) await new Promise(setImmediate)
    }
    const { stdout } = await hookline(["tail", other, one, "--where", "json:/n=20*", "-o", "json", ...conf])
    const records = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { topic: string; value: { n: number } })
    expect(records.map((it) => [it.topic, it.value.n])).toEqual([
      [one, 200],
      [other, 201],
      [one, 202],
    ])
    expect(records[1]).toEqual({
      topic: other,
      partition: 0,
      offset: 0,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      key: null,
      headers: [["source", "/other"]],
      value: { n: 201, type: "odd", received_at: expect.any(String), source: "webhook" },
    } as never)
  })

  test("tail --offset of a partition that the topic does not have is status 64", async () => {
    const { status, stderr } = await hookline(["tail", topic, "--offset", "9:0", ...conf])
    expect([status, stderr]).toEqual([
      64,
      `topic ${topic} has no partition 9; it has 1\n(see hookline tail --help)\n`,
    ])
  })

  test("tail ends as other programs do, without a complaint, when its reader has had enough", async () => {
    await post(0, "piped")
    const command = `${PROGRAM.join(" ")} tail ${topicOf("piped")} --follow --begin beginning ${conf.join(" ")} | head -n 1; echo \${PIPESTATUS[0]}`
    const pipe = Bun.spawn(["bash", "-c", command], { cwd: root, stdout: "pipe", stderr: "pipe" })
    const lines = pipe.stdout.getReader()
    const first = await lines.read()
    expect(numbers(Buffer.from(first.value!).toString())).toEqual([0])
    // It learns that nobody reads any more when it has something to write.
    for (let n = 1000; pipe.exitCode === null; n++) await post(n, "piped")
    expect(Buffer.from((await lines.read()).value!).toString()).toBe("141\n")
    expect(await new Response(pipe.stderr).text()).toBe("")
  })

  test("an unknown topic is an error that says so", async () => {
    const { status, stdout, stderr } = await hookline(["tail", "no-such-topic", ...conf])
    expect([status, stdout]).toEqual([69, ""])
    expect(stderr).toContain("no-such-topic")
  })

  test("topics lists the topic with its partitions and records", async () => {
    const { status, stdout } = await hookline(["topics", ...conf])
    expect(status).toBe(0)
    const row = stdout.split("\n").find((line) => line.split(" ")[0]!.endsWith(`/${topic}`))!
    expect(row.trim().split(/\s+/).slice(1, 3)).toEqual(["1", "5"])
  })
}
