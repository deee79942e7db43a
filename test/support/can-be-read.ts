import { afterAll, beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { hookline, startHookline, temporaryFolder, type RunningHookline } from "./hookline.ts"

const root = join(import.meta.dir, "../..")

/** Tests of `tail` and `topics` on a broker that `connection` names. */
export function canBeRead(broker: () => { connection: string; topic: string }): void {
  const folder = temporaryFolder()
  const conf = ["-c", join(folder.path, "pipelines.conf")]
  let running: RunningHookline
  let topic: string

  const post = async (n: number): Promise<void> => {
    const answer = await fetch(running.urls["webhooks"]!, {
      method: "POST",
      body: `{"n":${n},"type":"${n % 2 === 0 ? "even" : "odd"}"}`,
    })
    expect(answer.status).toBe(200)
  }
  const numbers = (printed: string): number[] =>
    [...printed.matchAll(/\{"n":(\d+),/g)].map(([, n]) => Number(n))

  beforeAll(async () => {
    topic = broker().topic
    running = await startHookline(
      `[connection:here]
${broker().connection}
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:webhooks:BrokerSink]
topic = ${topic}
[admin]
listen = off`,
      { folder: folder.path },
    )
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
    ["the end", ["--from", "end"], []],
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
    const { status, stdout, stderr } = await hookline(["tail", topic, ...flags, ...conf])
    expect([status, stderr]).toEqual([0, ""])
    expect(numbers(stdout)).toEqual([...expected])
  })

  test("tail --follow prints records as they are acknowledged, and ends well at an interrupt", async () => {
    const tail = Bun.spawn(
      [process.execPath, "src/cli.ts", "tail", topic, "--follow", "--offset", "4", ...conf],
      {
        cwd: root,
        stdout: "pipe",
        stderr: "inherit",
      },
    )
    const lines = tail.stdout.getReader()
    let printed = ""
    const until = async (n: number): Promise<void> => {
      while (!numbers(printed).includes(n)) {
        const { value, done } = await lines.read()
        if (done) throw new Error(`tail ended:\n${printed}`)
        printed += Buffer.from(value).toString()
      }
    }
    await until(4)
    await post(100)
    await until(100)
    await post(101)
    await until(101)
    expect(numbers(printed)).toEqual([4, 100, 101])
    tail.kill("SIGINT")
    expect(await tail.exited).toBe(0)
  })

  test("tail ends without a complaint when its reader has had enough", async () => {
    const command = `${process.execPath} src/cli.ts tail ${topic} --follow ${conf.join(" ")} | head -n 1`
    const pipe = Bun.spawn(["sh", "-c", command], { cwd: root, stdout: "pipe", stderr: "pipe" })
    const first = await pipe.stdout.getReader().read()
    // It learns that nobody reads any more when it has something to write.
    for (let n = 1000; pipe.exitCode === null; n++) await post(n)
    expect(numbers(Buffer.from(first.value!).toString())).toEqual([0])
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
    const row = stdout.split("\n").find((line) => line.startsWith(`${topic} `))!
    const records = Number(row.trim().split(/\s+/)[2])
    const { stdout: all } = await hookline(["tail", topic, ...conf])
    expect(records).toBe(numbers(all).length)
  })
}
