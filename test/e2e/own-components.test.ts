import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { cpSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { folderOfTests, hookline, startHookline } from "../support/hookline.ts"

const examples = join(import.meta.dir, "../../examples/components")
const folder = folderOfTests()

const component = (name: string, returned: string): string =>
  `defineComponent({ kind: "processor", name: "${name}", summary: "", options: {}, create: () => (event) => ${returned} })`

const refusing = (status: number): string =>
  `import { defineComponent, Rejected } from "hookline"
export const refuse = ${component("Refuse", `new Rejected(${status}, "refused", "It is refused.")`)}
`

const pipeline = (name: string, connection: string, section = ""): string => `${connection}
[pipeline:hooks:WebHookSource]
[pipeline:hooks:${name}]
${section}
[pipeline:hooks:BrokerSink]
topic = hooks
`

const post = (url: string, body: object): Promise<Response> =>
  fetch(url, { method: "POST", body: JSON.stringify(body) })

test("the examples split an event, look up its items and leave members out, in the order of their sections", async () => {
  const here = folder.make("examples")
  cpSync(examples, here, { recursive: true })
  const database = new Database(join(here, "customers.sqlite"))
  database.run("CREATE TABLE customers (id TEXT, plan TEXT)")
  database.run("INSERT INTO customers VALUES ('c1', 'pro'), ('c2', 'free')")
  database.close()
  const args = ["redact", "split", "lookup"].flatMap((name) => ["--components", `${name}.ts`])
  const text = readFileSync(join(examples, "pipelines.conf"), "utf8")
  await using running = await startHookline(text, { folder: here, args })
  const orders = [
    { id: 1, customer: "c1", card: "4242" },
    { id: 2, customer: "c2", phone: "555" },
  ]
  expect((await post(running.urls["orders"]!, { orders })).status).toBe(200)
  expect((await post(running.urls["orders"]!, { orders: [{ customer: "c3" }] })).status).toBe(422)
  expect(await running.stop()).toBe(0)
  const { stdout } = await hookline(["tail", "orders", "-c", join(here, "pipelines.conf")])
  const records = stdout.trim().split("\n")
  expect(records.map((it) => JSON.parse(it) as object)).toEqual([
    { id: 1, customer: "c1", plan: "pro", received_at: expect.any(String), source: "webhook" },
    { id: 2, customer: "c2", plan: "free", received_at: expect.any(String), source: "webhook" },
  ])
  const checked = await hookline(["check", ...args], { cwd: here })
  expect([checked.status, checked.stdout]).toEqual([0, expect.stringContaining("Configuration OK")])
})

test("without the flag nothing of a module runs, and check says what may define an unknown section", async () => {
  const here = folder.make("unnamed")
  const module = `await Bun.write(${JSON.stringify(join(here, "loaded"))}, "")\n${refusing(422)}`
  for (const name of ["my.ts", "hookline-components.ts", "index.ts"])
    await Bun.write(join(here, name), module)
  await Bun.write(join(here, "pipelines.conf"), pipeline("Refuse", "[connection:log]\ndirectory = data"))
  const checked = await hookline(["check"], { cwd: here })
  expect([checked.status, checked.stderr]).toEqual([
    78,
    expect.stringMatching(
      /^pipelines.conf:4: \[pipeline:hooks:Refuse\]: unknown component; .*; or name the module that defines it with --components$/m,
    ),
  ])
  expect(existsSync(join(here, "loaded"))).toBe(false)
  const named = await hookline(["check"], { cwd: here, env: { HOOKLINE_COMPONENTS: "my.ts" } })
  expect([named.status, existsSync(join(here, "loaded"))]).toEqual([0, true])
})

test("a changed module takes effect with a restart, and a reload says so", async () => {
  const here = folder.make("changed")
  const module = join(here, "own/refuse.ts")
  await Bun.write(module, 'import { status } from "./status.ts"\n' + refusing(422).replace("422", "status"))
  await Bun.write(join(here, "own/status.ts"), "export const status = 422")
  const text = pipeline("Refuse", "[connection:log]\ndirectory = data")
  await using running = await startHookline(text, {
    folder: here,
    env: { HOOKLINE_COMPONENTS: "own/refuse.ts" },
    args: ["--watch"],
  })
  expect((await post(running.urls["hooks"]!, {})).status).toBe(422)
  await Bun.write(join(here, "own/status.ts"), "export const status = 423")
  await running.logged(({ msg }) => msg === "reloaded")
  expect(running.log).toContainEqual(
    expect.objectContaining({
      level: "warn",
      module: join(here, "own/status.ts"),
      msg: "a module of --components has changed: it takes effect with a restart",
    }),
  )
  expect((await post(running.urls["hooks"]!, {})).status).toBe(422)
})

const WRONG: readonly [name: string, module: string, status: number, message: string | RegExp][] = [
  [
    "throws",
    'const a = 1\nthrow new Error("no licence")',
    78,
    /can't be loaded: no licence \(\/.*\/my\.ts:2\)$/m,
  ],
  ["does not parse", "\nexport const = 1", 78, /can't be loaded: .* \(\/.*\/my\.ts:2\)$/m],
  ["throws what is no error", "throw undefined", 78, "can't be loaded: undefined"],
  [
    "imports a package that does not exist",
    'import "no-such-package"',
    78,
    /can't be loaded: .*no-such-package/,
  ],
  [
    "exports nothing",
    "export const limit = 1",
    78,
    "exports no component; export what defineComponent returns",
  ],
  [
    "has a built-in component's name",
    `import { defineComponent } from "hookline"\nexport default ${component("Filter", "event")}`,
    78,
    "component Filter: another component has this name; choose another",
  ],
  [
    "has two components of one name",
    `import { defineComponent } from "hookline"\nexport const a = ${component("A", "event")}, b = ${component("A", "event")}`,
    78,
    "component A: another component has this name; choose another",
  ],
]

test.each(WRONG)("a module that %s: one message, and an exit status", async (name, module, status, text) => {
  const here = folder.make(name.replaceAll(" ", "-"))
  await Bun.write(join(here, "my.ts"), module)
  await Bun.write(join(here, "pipelines.conf"), pipeline("A", "[connection:log]\ndirectory = data"))
  for (const command of ["check", "run"]) {
    const ended = await hookline([command, "--components", "./my.ts"], { cwd: here })
    const start = `--components ${join(here, "my.ts")}: `
    expect([ended.status, ended.stderr.slice(0, start.length)]).toEqual([status, start])
    expect(ended.stderr.slice(start.length).trim()).toMatch(text)
  }
})

test("a module that does not exist, and a component that can't be created, are named", async () => {
  const here = folder.make("broken")
  const absent = await hookline(["run", "--components", "none.ts"], { cwd: here })
  expect([absent.status, absent.stderr]).toEqual([
    66,
    `--components ${join(here, "none.ts")}: does not exist\n(see hookline help file_unreadable)\n`,
  ])
  const failing = component("Failing", "event").replace(
    "create: () =>",
    'create: () => { throw new Error("out of paper") }, x: () =>',
  )
  await Bun.write(
    join(here, "my.ts"),
    `import { defineComponent } from "hookline"\nexport const a = ${failing}`,
  )
  await Bun.write(join(here, "pipelines.conf"), pipeline("Failing", "[connection:log]\ndirectory = data"))
  for (const command of ["check", "run"]) {
    const { status, stderr } = await hookline([command, "--components", "my.ts"], { cwd: here })
    expect([status, stderr]).toEqual([
      70,
      expect.stringContaining("component Failing of pipeline hooks could not be created: out of paper"),
    ])
  }
})

test("a sink of a module takes the place of BrokerSink; a second sink is an error", async () => {
  const here = folder.make("sink")
  const sink = `import { Accepted, defineComponent } from "hookline"
export default defineComponent({
  kind: "sink", name: "Collect", summary: "", options: {},
  create: () => async (event) => {
    await Bun.write(${JSON.stringify(join(here, "collected"))}, event.body)
    return new Accepted({ partition: 0, offset: 0 })
  },
})`
  await Bun.write(join(here, "my.ts"), sink)
  const sections = "[pipeline:hooks:WebHookSource]\nhost = 127.0.0.1\n[pipeline:hooks:Collect]\n"
  const args = ["--components", "my.ts"]
  await Bun.write(join(here, "pipelines.conf"), sections)
  const checked = await hookline(["check", ...args], { cwd: here })
  expect(checked.stdout).toContain("hooks: 127.0.0.1:8080/webhook -> Collect; verification: none\n")
  await using running = await startHookline(sections.replace("1\n", "1\nport = 0\n"), { folder: here, args })
  expect((await post(running.urls["hooks"]!, { n: 1 })).status).toBe(200)
  expect(await Bun.file(join(here, "collected")).json()).toMatchObject({ n: 1, source: "webhook" })
  await Bun.write(join(here, "pipelines.conf"), `${sections}[pipeline:hooks:BrokerSink]\ntopic = hooks`)
  const both = await hookline(["check", ...args], { cwd: here })
  expect([both.status, both.stderr]).toEqual([
    78,
    expect.stringContaining(
      "pipelines.conf:4: [pipeline:hooks:BrokerSink]: is a second sink of the pipeline; remove one of them",
    ),
  ])
})

test("verify passes over the sections of components that it does not know", async () => {
  const here = folder.make("verified")
  const verifier = "[pipeline:hooks:Verifier]\nprovider = github\nsecret = obviously-fake-secret\n"
  await Bun.write(join(here, "pipelines.conf"), pipeline("Refuse", `${verifier}[defaults:Refuse]`))
  await Bun.write(join(here, "body.json"), "{}")
  const { status, stdout } = await hookline(["verify", "--pipeline", "hooks", "--body", "body.json"], {
    cwd: here,
  })
  expect([status, stdout]).toEqual([1, expect.stringContaining("GitHub: hmac")])
})
