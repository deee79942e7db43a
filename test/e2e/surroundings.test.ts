import { expect, test } from "bun:test"
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeCertificate } from "../support/certificate.ts"
import { endingWithThisProcess, runToEnd } from "../support/child.ts"
import { hookline, reload, startHookline, folderOfTests } from "../support/hookline.ts"
import { published, reloadConf, statusOf } from "../support/reloaded.ts"
import { ON_LOG, startService } from "../support/webhook-service.ts"

// test/faults/surroundings.test.ts counts events in other surroundings.

const base = folderOfTests()
const program = join(import.meta.dir, "../../bin/hookline")

const isLinux = process.platform === "linux"

test.skipIf(!isLinux)(
  "too few descriptors for connections end the start with one sentence, which says how many are needed",
  async () => {
    const folder = base.make("descriptors")
    const start = (count: number): ReturnType<typeof startService> =>
      startService({ folder, ...ON_LOG, descriptors: count })
    const sentence =
      /^this process may open 40 files \(ulimit -n\), too few for connections; raise the limit to (\d+) or more$/m
    const failure = await start(40).then(
      () => "it started",
      (error: Error) => error.message,
    )
    const [, needed] = sentence.exec(failure) ?? []
    expect(needed, failure).toBeDefined()
    expect(failure).toContain("(see hookline help too_few_descriptors)")
    // how many are open at the start differs by a few
    await using running = await start(Number(needed) + 8)
    expect(await statusOf(running.urls["webhooks"])).toBe(200)
    expect(await running.stop()).toBe(0)
  },
)

const encoded = (encoding: BufferEncoding, mark = ""): Buffer =>
  Buffer.from(`${mark}${reloadConf({ admin: "off" })}`, encoding)

test.each<[name: string, bytes: Buffer, problem: string | undefined]>([
  ["CRLF", Buffer.from(reloadConf({ admin: "off" }).replaceAll("\n", "\r\n")), undefined],
  ["a byte-order mark", encoded("utf8", "\ufeff"), undefined],
  ["UTF-16", encoded("utf16le", "\ufeff"), "not UTF-8 text (contains NUL bytes); save the file as UTF-8"],
  [
    "UTF-16 without a mark",
    encoded("utf16le"),
    "not UTF-8 text (contains NUL bytes); save the file as UTF-8",
  ],
])("a configuration with %s is read, or refused with one sentence", async (name, bytes, problem) => {
  const folder = base.make(name)
  writeFileSync(join(folder, "pipelines.conf"), bytes)
  const { status, stdout, stderr } = await hookline(["check"], { cwd: folder })
  if (problem === undefined) expect(stdout).toContain("Configuration OK")
  else
    expect({ status, stderr }).toEqual({
      status: 78,
      stderr: `pipelines.conf: ${problem}\n(see hookline help invalid_line)\n`,
    })
})

test("a configuration that SIGHUP finds half written changes nothing; whole, and swapped by a symbolic link, it takes over", async () => {
  const folder = base.make("half")
  const whole = reloadConf({ topic: "second" })
  await using running = await startHookline(reloadConf({ topic: "first" }), { folder })
  const url = running.urls["webhooks"]
  expect(await statusOf(url)).toBe(200)
  for (const end of ["[pipeline:webhooks:Bro", "[pipeline:webhooks:BrokerSink]\nto"]) {
    expect(await reload(running, folder, whole.slice(0, whole.indexOf(end) + end.length))).toBe("not")
    expect(await statusOf(url)).toBe(200)
  }
  expect(await reload(running, folder, whole)).toBe("reloaded")
  expect(await statusOf(url)).toBe(200)

  // as Kubernetes mounts a ConfigMap
  for (const [version, topic] of ["third", "fourth"].entries()) {
    mkdirSync(join(folder, `..${version}`))
    writeFileSync(join(folder, `..${version}`, "pipelines.conf"), reloadConf({ topic }))
    symlinkSync(`..${version}`, join(folder, "..data_tmp"))
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"))
    if (version === 0) {
      symlinkSync("..data/pipelines.conf", join(folder, "link"))
      renameSync(join(folder, "link"), join(folder, "pipelines.conf"))
    }
    const reloads = running.log.filter(({ msg }) => msg === "reloaded").length
    running.signal("SIGHUP")
    await running.logged(() => running.log.filter(({ msg }) => msg === "reloaded").length > reloads)
    expect(await statusOf(url)).toBe(200)
  }
  await running.stop()
  const counts = await Promise.all(
    ["first", "second", "third", "fourth"].map((topic) => published(folder, topic)),
  )
  expect(counts).toEqual([3, 1, 1, 1])
})

test.skipIf(!isLinux)(
  "a working directory whose name is not UTF-8 is told from one that does not exist",
  async () => {
    const folder = base.make("bytes")
    const script = String.raw`d=$(printf 'caf\351'); mkdir "$d" && cd "$d" && exec "$0" check`
    const { status, stderr } = await runToEnd(["sh", "-c", script, program], { cwd: folder })
    expect(status).toBe(66)
    expect(stderr).toEndWith(
      " can't be entered: its name is not UTF-8; rename it\n(see hookline help file_unreadable)\n",
    )
  },
)

/** What `check --connect` prints for a schema registry at this URL. */
async function checkRegistry(name: string, url: string, variables: Record<string, string>): Promise<string> {
  const folder = base.make(name)
  const configuration = `${reloadConf({ admin: "off" })}`.replace(
    "connection = log",
    `connection = log\nvalue_format = json-schema\nregistry_url = ${url}\nregistry_username = user\nregistry_password = obviously-fake`,
  )
  writeFileSync(join(folder, "pipelines.conf"), configuration)
  const command = endingWithThisProcess(program, "check", "--connect")
  const { stdout, stderr } = await runToEnd(command, { cwd: folder, env: { ...process.env, ...variables } })
  return `${stdout}${stderr}`
}

test("BUN_CONFIG_VERBOSE_FETCH prints no token of a request that Hookline makes", async () => {
  const asked: (string | null)[] = []
  await using registry = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch({ headers }) {
      asked.push(headers.get("authorization"))
      return new Response("{}", { status: 404 })
    },
  })
  const printed = await checkRegistry("verbose", registry.url.origin, { BUN_CONFIG_VERBOSE_FETCH: "curl" })
  const [basic] = asked
  expect(basic).toStartWith("Basic ")
  expect(printed).not.toContain(basic!.slice("Basic ".length))
})

test("NODE_TLS_REJECT_UNAUTHORIZED=0 does not make Hookline trust a server's certificate", async () => {
  const { pem, privateKey } = makeCertificate("localhost", { hosts: ["localhost"], nowMs: Date.now() })
  let requests = 0
  await using registry = Bun.serve({
    port: 0,
    tls: { key: privateKey.export({ format: "pem", type: "pkcs8" }), cert: pem },
    fetch() {
      requests++
      return new Response("{}", { status: 404 })
    },
  })
  const url = `https://localhost:${registry.port}`
  const printed = await checkRegistry("untrusted", url, { NODE_TLS_REJECT_UNAUTHORIZED: "0" })
  expect(printed).toContain("its certificate is self-signed, and not trusted")
  expect(requests).toBe(0)
})
