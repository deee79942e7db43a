import { describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, openSync, readFileSync, renameSync, rmdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { steadyMs } from "../../src/clock/clock.ts"
import { endingWithThisProcess, runToEnd } from "../support/child.ts"
import { isFull, report } from "../support/fault-table.ts"
import { compare, expectKept, LATE_MS, type Findings } from "../support/findings.ts"
import { hookline, startHookline, folderOfTests, type RunningHookline } from "../support/hookline.ts"
import { openSocket } from "../support/http-socket.ts"
import { until } from "../support/kafka-options.ts"
import { KeptConnection } from "../support/kept-connection.ts"
import { NumberedSenders, type Sending } from "../support/numbered-senders.ts"
import { isPermitted } from "../support/tools.ts"
import { freePort } from "../support/ports.ts"
import { configurationOf, eventsInLog, ON_LOG, serving } from "../support/webhook-service.ts"
import { CLI, PROGRAM } from "../support/program.ts"

// What whoever starts the process decides: its limits, its user's environment, its file systems, its names, its terminal.

const DELIVERY_TIMEOUT_MS = 5000
/** Acknowledged before what happens, and after it. */
const EVENTS = isFull ? 1000 : 150
const STOPPED_MS = isFull ? 60_000 : 2000
const MEBIBYTE = 1024 * 1024
/** More than the first events take. */
const FILE_SIZE_BYTES = (isFull ? 48 : 8) * MEBIBYTE
const root = join(import.meta.dir, "../..")

const base = folderOfTests()

interface Surroundings {
  /** The command that becomes Hookline's. */
  readonly within?: readonly string[]
  readonly env?: { readonly [name: string]: string }
  readonly program?: readonly string[]
  readonly configuration?: string
  /** Default: each has one of its own. */
  readonly folder?: string
  readonly sending?: Sending
  /** What happens between the first events and the last ones. */
  readonly during?: (running: RunningHookline, senders: NumberedSenders) => Promise<unknown>
  /** For which the process can't answer. */
  readonly stoppedMs?: number
  readonly end?: (running: RunningHookline) => Promise<number | NodeJS.Signals>
}

let folders = 0

/** Posts events before, while and after something happens, stops Hookline and compares the answers with its log. */
async function kept(name: string, surroundings: Surroundings): Promise<Findings> {
  const {
    within = [],
    env = {},
    program = PROGRAM,
    sending = { keys: 16 },
    during,
    stoppedMs = 0,
  } = surroundings
  const { configuration = configurationOf(ON_LOG), folder = base.make(`${folders++}`), end } = surroundings
  const running = await startHookline(configuration, { folder, env, program: [...within, ...program] })
  await using _ = running
  await using senders = new NumberedSenders(serving(running), sending)
  const work = async (): Promise<void> => {
    await senders.many(EVENTS)
    await during?.(running, senders)
    await senders.many(EVENTS)
  }
  const early = await Promise.race([work(), running.exited])
  expect(early, "it ended").toBeUndefined()
  await senders.stop()
  expect(await (end === undefined ? running.stop() : end(running))).toBe(0)

  const findings = compare(senders.posted, await eventsInLog(join(folder, "log"), ON_LOG.topic))
  report(`surroundings: ${name}`, findings)
  expectKept(findings, DELIVERY_TIMEOUT_MS + stoppedMs)
  return findings
}

describe.skipIf(!isPermitted(["prlimit"], ["true"]))("limits of the process", () => {
  test.each([64, 128, 256])(
    "%d descriptors and more senders than they allow connections: every acknowledged event is stored",
    async (count) => {
      await kept(`${count} descriptors, ${count} senders`, {
        within: ["prlimit", `--nofile=${count}`],
        sending: { keys: count },
      })
    },
  )

  test("a log that reaches the file-size limit refuses events and names the limit; with the limit raised it accepts them", async () => {
    const findings = await kept("file-size limit reached, then raised", {
      within: ["prlimit", `--fsize=${FILE_SIZE_BYTES}:unlimited`],
      sending: { keys: 16, padBytes: 20_000 },
      async during(running, senders) {
        await senders.first(({ answer }) => answer === 503)
        const { msg } = await running.logged(({ level }) => level === "error")
        expect(msg).toEndWith(
          `; this process may write files of ${FILE_SIZE_BYTES} bytes at most (ulimit -f)`,
        )
        await senders.first(({ answer }) => answer === 503)
        Bun.spawnSync(["prlimit", "--pid", `${running.pid}`, "--fsize=unlimited"])
      },
    })
    expect(findings.sent).toBeGreaterThan(findings.acknowledged)
  })

  test.skipIf(!canLimitMemory())(
    "300 senders of 256 KB bodies stay within a memory limit of 128 MiB, and of 192 MiB",
    async () => {
      for (const mebibytes of [128, 192]) {
        using group = memoryGroup(mebibytes * MEBIBYTE)
        await kept(`${mebibytes} MiB of memory, 300 senders of 256 KB`, {
          within: ["sh", "-c", `echo $$ > ${group.path}/cgroup.procs; exec "$0" "$@"`],
          sending: { keys: 300, padBytes: 256_000 },
        })
      }
    },
  )
})

/** The folder of a hierarchy of control groups that limits memory, and the file of the limit; undefined: there is none. */
function memoryHierarchy(): { folder: string; limit: string } | undefined {
  const v1 = "/sys/fs/cgroup/memory"
  if (existsSync(join(v1, "memory.limit_in_bytes"))) return { folder: v1, limit: "memory.limit_in_bytes" }
  const v2 = "/sys/fs/cgroup"
  const enabled = join(v2, "cgroup.subtree_control")
  if (!existsSync(enabled) || !readFileSync(enabled, "utf8").includes("memory")) return undefined
  return { folder: v2, limit: "memory.max" }
}

function canLimitMemory(): boolean {
  const { folder = "" } = memoryHierarchy() ?? {}
  const own = join(folder, `hookline-trial-${crypto.randomUUID()}`)
  return isPermitted([], ["sh", "-c", `[ -n "${folder}" ] && mkdir ${own} && rmdir ${own}`])
}

/** A control group with a memory limit; its processes have to end before it is disposed of. */
function memoryGroup(bytes: number): Disposable & { readonly path: string } {
  const { folder, limit } = memoryHierarchy()!
  const path = join(folder, `hookline-test-${crypto.randomUUID()}`)
  mkdirSync(path)
  writeFileSync(join(path, limit), `${bytes}`)
  return { path, [Symbol.dispose]: () => rmdirSync(path) }
}

describe("signals", () => {
  test("a process that was stopped for a while loses no acknowledged event and accepts events again; those under way may get 503", async () => {
    const findings = await kept(`SIGSTOP, SIGCONT after ${STOPPED_MS / 1000} s, 16 senders`, {
      stoppedMs: STOPPED_MS,
      async during(running) {
        running.signal("SIGSTOP")
        await Bun.sleep(STOPPED_MS)
        running.signal("SIGCONT")
      },
    })
    expect(findings.sent - findings.acknowledged).toBeLessThanOrEqual(16)
  })

  const own = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
  test.skipIf(!isPermitted(["unshare"], [...own, "true"]))(
    "as process 1 of a namespace it reloads on SIGHUP and stops in order on SIGTERM",
    async () => {
      const first = ({ pid }: RunningHookline): number =>
        Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"))
      await kept("process 1 of a namespace, reloaded", {
        within: own,
        async during(running) {
          process.kill(first(running), "SIGHUP")
          await running.logged(({ msg }) => msg === "reloaded")
        },
        end(running) {
          process.kill(first(running), "SIGTERM")
          return running.exited
        },
      })
    },
  )
})

const canMount = isPermitted(["unshare"], ["unshare", "--mount", "mount", "--bind", "/usr", "/usr"])

/** Hookline on a read-only root; its folder stays as it is. `tmp` prepares /tmp, where the folder lies. */
const onReadOnlyRoot = (folder: string, tmp: string): string[] => {
  const script = `set -e
mount --bind "${folder}" /mnt
${tmp}
mkdir -p "${folder}"
mount --bind /mnt "${folder}"
mount -o remount,bind,ro /
if touch /hookline-test 2> /dev/null; then exit 1; fi
exec "$0" "$@"`
  return ["unshare", "--mount", "sh", "-c", script]
}

describe.skipIf(!canMount)("file systems", () => {
  test.each([
    ["a /tmp without programs", "mount -t tmpfs -o noexec,nosuid,nodev none /tmp"],
    ["a /tmp that can't be written", "mount -t tmpfs -o mode=0555 none /tmp"],
  ])(
    "a read-only root, one folder to write to, and %s: every acknowledged event is stored",
    async (name, tmp) => {
      const folder = base.make(`${folders++}`)
      const within = [...onReadOnlyRoot(folder, tmp), "setpriv", "--bounding-set=-all", "--inh-caps=-all"]
      // the executable of a run lies in /tmp
      const program = [process.execPath, CLI]
      await kept(`a read-only root and ${name}`, { folder, within, program })
    },
  )
})

describe("the environment", () => {
  const inShell = (script: string): string[] => ["sh", "-c", `${script}; exec "$0" "$@"`]
  test.each<[name: string, Pick<Surroundings, "within" | "env">]>([
    ["an empty environment", { within: ["env", "-i"] }],
    ["HOME unset", { within: ["env", "-u", "HOME"] }],
    ["HOME and TMPDIR that do not exist", { env: { HOME: "/nonexistent", TMPDIR: "/nonexistent" } }],
    ["umask 000", { within: inShell("umask 000") }],
    ["umask 777", { within: inShell("umask 777") }],
    [
      "variables meant for other programs",
      {
        env: {
          NODE_OPTIONS: "--require=/nonexistent.js --max-old-space-size=16",
          NODE_PATH: "/nonexistent",
          NODE_UNIQUE_ID: "1",
          BUN_CONFIG_MAX_HTTP_REQUESTS: "1",
          BUN_CONFIG_REGISTRY: "http://127.0.0.1:1",
          BUN_RUNTIME_TRANSPILER_CACHE_PATH: "/nonexistent/cache",
          BUN_PORT: "1",
          PORT: "1",
          UV_THREADPOOL_SIZE: "1",
          LC_ALL: "xx_YY",
        },
      },
    ],
  ])("%s: every event is acknowledged and stored", async (name, surroundings) => {
    const findings = await kept(name, surroundings)
    expect(findings.acknowledged).toBe(findings.sent)
  })
})

describe("names of folders", () => {
  test.each([
    ["spaces", " a folder  of mine "],
    ["quotes and what a shell expands", 'it\'s "mine" `id` $HOME $(id) \\ *'],
    ["a line break", "two\nlines"],
    ["what URLs give a meaning", "100%25 #1?mode=memory&x=:memory:"],
    ["a name that begins as an option", "-rf"],
    ["letters of other scripts", "ünï 漢字 😀"],
    ["a name of 255 bytes", "n".repeat(255)],
    ["a path of 400 bytes", Array.from({ length: 4 }, () => "m".repeat(90)).join("/")],
  ])("%s: every event is acknowledged and stored, and tail finds them", async (name, path) => {
    const folder = join(base.make(`${folders++}`), path)
    mkdirSync(folder, { recursive: true })
    const findings = await kept(`a folder's name with ${name}`, {
      folder,
      program: [join(root, "bin/hookline")],
    })
    expect(findings.acknowledged).toBe(findings.sent)
    const tail = await hookline(["tail", ON_LOG.topic, "--format", "value", "--begin", "beginning"], {
      cwd: folder,
    })
    expect(tail.stdout.split("\n").length - 1).toBe(findings.found)
  })
})

describe("the network", () => {
  /** A pipeline on an embedded log, one on a Kafka that is known by its name, and one with a registry likewise. */
  const byName = (port: number): string =>
    `${configurationOf({ ...ON_LOG, port })}
[connection:named]
bootstrap_servers = kafka.hookline.example:9092, kafka-2.hookline.example:9092, kafka-3.hookline.example:9092
delivery_timeout = 1s
[pipeline:named:WebHookSource]
port = ${port}
path = /named
[pipeline:named:BrokerSink]
connection = named
topic = webhooks
[pipeline:registered:WebHookSource]
port = ${port}
path = /registered
[pipeline:registered:BrokerSink]
connection = broker
topic = registered
value_format = json-schema
registry_url = http://registry.hookline.example`.replace(
      "[pipeline:webhooks:BrokerSink]",
      "$&\nconnection = broker",
    )

  test.skipIf(!canMount).each([
    ["no resolv.conf", ""],
    ["DNS that never answers", "nameserver 127.77.0.53"],
  ])(
    "%s: pipelines to hosts with names answer 503 in time, the others accept every event, a reload and a stop work",
    async (name, resolvConf) => {
      const queries: Buffer[] = []
      // hears every query, and answers none
      const dns = await Bun.udpSocket({
        hostname: "127.77.0.53",
        port: 53,
        socket: { data: (_, query) => void queries.push(query) },
      })
      const folder = base.make(`${folders++}`)
      const file = join(folder, "resolv.conf")
      writeFileSync(file, `${resolvConf}\n`)
      const script = `mount --bind "${file}" "$(readlink -f /etc/resolv.conf)" && exec "$0" "$@"`
      try {
        const findings = await kept(name, {
          folder,
          within: ["unshare", "--mount", "sh", "-c", script],
          configuration: byName(await freePort()),
          async during(running) {
            for (const pipeline of ["named", "registered"]) {
              using sender = new KeptConnection(running.urls[pipeline]!, {
                giveUpMs: DELIVERY_TIMEOUT_MS + LATE_MS,
              })
              expect(await sender.post("{}")).toBe(503)
            }
            const down = await running.logged(({ msg }) => msg.startsWith("Kafka unavailable"))
            expect(down["reason"]).toMatch(resolvConf === "" ? /^host name not found/ : /^no answer$/)
            running.signal("SIGHUP")
            await running.logged(({ msg }) => msg === "reloaded")
          },
        })
        expect(findings.acknowledged).toBe(findings.sent)
        expect(queries.length > 0).toBe(resolvConf !== "")
      } finally {
        dns.close()
      }
    },
  )

  const withoutIpv4 = [
    "unshare",
    "--net",
    "sh",
    "-ec",
    `ip link set lo up; ip -4 addr flush dev lo; exec "$0" "$@"`,
  ]
  test.skipIf(!isPermitted(["unshare", "ip"], [...withoutIpv4, "true"]))(
    "where there is IPv6 alone it serves the addresses that are configured, and says which one does not exist",
    async () => {
      const folder = base.make(`${folders++}`)
      const support = (name: string): string => JSON.stringify(join(import.meta.dir, "../support", name))
      const script = `
        import { startHookline } from ${support("hookline.ts")}
        import { NumberedSenders } from ${support("numbered-senders.ts")}
        import { configurationOf, ON_LOG, serving } from ${support("webhook-service.ts")}
        const [folder, events] = process.argv.slice(-2)
        const six = configurationOf(ON_LOG).replace("host = 127.0.0.1", "host = ::1").replace("= 127.0.0.1:0", "= [::1]:0")
        const running = await startHookline(six, { folder })
        const senders = new NumberedSenders(serving(running), { keys: 16 })
        await senders.many(Number(events))
        await senders.stop()
        await running.stop()
        console.log(JSON.stringify(senders.posted))`
      const ended = await runToEnd([
        ...withoutIpv4,
        process.execPath,
        "-e",
        script,
        "--",
        folder,
        `${2 * EVENTS}`,
      ])
      expect(ended.stderr).toBe("")
      const posted = JSON.parse(ended.stdout) as NumberedSenders["posted"]
      const findings = compare(posted, await eventsInLog(join(folder, "log"), ON_LOG.topic))
      report("surroundings: IPv6 alone", findings)
      expectKept(findings, DELIVERY_TIMEOUT_MS)
      expect(findings.acknowledged).toBe(findings.sent)

      const admin = configurationOf(ON_LOG).replace("host = 127.0.0.1", "host = ::1")
      writeFileSync(join(folder, "pipelines.conf"), admin)
      const four = await runToEnd([...withoutIpv4, ...PROGRAM, "run", "-c", join(folder, "pipelines.conf")])
      expect(four).toMatchObject({
        status: 69,
        stderr: `[admin] listen: can't listen on 127.0.0.1:0: the host is not an address of this machine, or set listen = off\n(see hookline help address_not_local)\n`,
      })
    },
  )
})

describe("others on the same files", () => {
  test("a process that starts while another one drains the same log ends with status 69 and names it, and starts once it has gone", async () => {
    const folder = base.make(`${folders++}`)
    const port = await freePort()
    const configuration = configurationOf({ ...ON_LOG, port })
    const file = join(folder, "pipelines.conf")
    await using running = await startHookline(configuration, { folder })
    const url = running.urls["webhooks"]!
    await using senders = new NumberedSenders(serving(running), { keys: 16 })
    await senders.many(EVENTS)
    using slow = await openSocket(port)
    slow.send(`POST ${new URL(url).pathname} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{`)
    // an event that is posted later and accepted shows that the slow request has been read
    const sentMs = steadyMs()
    await senders.first(({ startedMs, answer }) => startedMs > sentMs && answer === 200)
    running.signal("SIGTERM")
    await running.logged(({ msg }) => msg === "stopping")
    const second = await hookline(["run", "-c", file])
    expect(second).toMatchObject({ status: 69, stdout: "" })
    expect(second.stderr).toContain(`is being written to by process ${running.pid}; stop that one`)
    slow.send("}")
    expect(await slow.ended).toStartWith("HTTP/1.1 200 ")
    expect(await running.exited).toBe(0)

    await using third = await startHookline(configuration, { folder })
    await senders.many(EVENTS)
    await senders.stop()
    expect(await third.stop()).toBe(0)
    const findings = compare(senders.posted, await eventsInLog(join(folder, "log"), ON_LOG.topic))
    report("surroundings: one starts while another drains", findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
  })

  test("a log file that is moved away gets the later lines too, and no event is lost", async () => {
    const folder = base.make(`${folders++}`)
    const [file, moved] = [join(folder, "out.log"), join(folder, "out.log.1")]
    const port = await freePort()
    await Bun.write(join(folder, "pipelines.conf"), configurationOf({ ...ON_LOG, port }))
    const child = Bun.spawn(endingWithThisProcess(...PROGRAM, "run"), {
      cwd: folder,
      stdout: openSync(file, "w"),
    })
    await until("it has started", () => readFileSync(file, "utf8").includes(`"started"`))
    const target = { url: `http://127.0.0.1:${port}/webhook`, pid: child.pid }
    await using senders = new NumberedSenders(target, { keys: 16 })
    await senders.many(EVENTS)
    renameSync(file, moved)
    child.kill("SIGHUP")
    await until("it is logged", () => readFileSync(moved, "utf8").includes(`"reloaded"`))
    await senders.many(EVENTS)
    await senders.stop()
    child.kill("SIGTERM")
    expect(await child.exited).toBe(0)
    expect(readFileSync(moved, "utf8")).toContain(`"stopped"`)
    expect(existsSync(file)).toBe(false)
    const findings = compare(senders.posted, await eventsInLog(join(folder, "log"), ON_LOG.topic))
    report("surroundings: the log file moved away", findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(findings.acknowledged).toBe(findings.sent)
  })
})
