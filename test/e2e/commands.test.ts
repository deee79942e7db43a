import { Help, type Command } from "commander"
import { expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { renderManPage } from "../../scripts/man-page.ts"
import { EXIT_STATUSES } from "../../src/commands/exit-statuses.ts"
import { declareProgram } from "../../src/commands/program.ts"
import { FAULTS } from "../../src/errors.ts"
import { hooklineInProcess } from "../support/command-in-process.ts"
import { hookline, startHookline, folderOfTests, temporaryFolder } from "../support/hookline.ts"
import { hasTools } from "../support/tools.ts"

const folder = folderOfTests()
const conf = join(folder.path, "pipelines.conf")
const CONFIGURATION = `[connection:log]
directory = log
[pipeline:webhooks:WebHookSource]
[pipeline:webhooks:BrokerSink]
topic = webhooks
`

test.each([
  [["tial", "webhooks", "--follow"], 'unknown command "tial"; did you mean "tail"?'],
  [["help", "tial"], 'unknown command "tial"; did you mean "tail"?'],
  [["spool", "stauts", "--nonsense"], 'unknown command "stauts"; did you mean "status"?'],
  [["help", "spool", "drian"], 'unknown command "drian"; did you mean "drain"?'],
  [["frobnicate", "--help"], 'unknown command "frobnicate"; the nearest of '],
])("%j says what is unknown, and nothing else", async (args, message) => {
  const { status, stdout, stderr } = await hooklineInProcess(args)
  expect([status, stdout]).toEqual([64, ""])
  expect(stderr).toStartWith(message)
  const of = args.includes("spool") ? " spool" : ""
  expect(stderr).toEndWith(`\n(see hookline${of} --help)\n`)
  expect(stderr.trim().split("\n")).toHaveLength(2)
})

test("hookline help explains an error by its name, several names, and the type of an answer", async () => {
  const { status, stdout } = await hooklineInProcess([
    "help",
    "port_in_use",
    "urn:hookline:error:invalid_json",
  ])
  expect([status, stdout.split("\n").filter((line) => /^\w+$/.test(line))]).toEqual([
    0,
    ["port_in_use", "invalid_json"],
  ])
  for (const part of ["Seen: ", "Means: ", "Do: "]) expect(stdout.split(`\n${part}`)).toHaveLength(3)
  const unknown = await hooklineInProcess(["help", "port_in_use", "port_in_us"])
  expect([unknown.status, unknown.stderr]).toEqual([64, expect.stringContaining("unknown command")])
})

test("hookline help explains a kind of problem and an alert by the runbook", async () => {
  for (const name of ["connection_down", "HooklineBrokerUnavailable"]) {
    const { status, stdout } = await hooklineInProcess(["help", name])
    expect([status, stdout]).toEqual([0, expect.stringContaining("HooklineBrokerUnavailable\n\nProblem: ")])
  }
})

test("the last line of a start's errors has the name of each, which hookline help explains", async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, "pipelines.conf")
  writeFileSync(file, "[connection:log]\ndirectory = log\nwat = 1\nwat = 2\n[admin]\nlisen = off\n")
  for (const command of ["run", "check"]) {
    const { status, stderr } = await hookline([command, "-c", file])
    expect(status).toBe(78)
    expect(stderr).toEndWith("\n(see hookline help invalid_configuration unknown_key duplicate_key)\n")
  }
})

const help = new Help()
/** Those that do something by themselves. */
const working = (command: Command): Command[] => {
  const inner = help.visibleCommands(command).flatMap(working)
  return inner.length === 0 || command.registeredArguments.length > 0 ? [command, ...inner] : inner
}
/** Each command that is not hidden, by the words that name it. */
const commands = new Map(
  working(declareProgram()).map((command) => {
    const group = command.parent!.name()
    return [group === "hookline" ? [command.name()] : [group, command.name()], command]
  }),
)

test.each([
  [["send"], "missing required argument 'pipeline|url'\n(see hookline send --help)\n"],
  [["run", "--nonsense"], "unknown option '--nonsense'\n(see hookline run --help)\n"],
  [["forward", "list", "--nonsense"], "unknown option '--nonsense'\n(see hookline forward list --help)\n"],
  [["send", "tcp://a"], "URL is not an http or https URL\n(see hookline send --help)\n"],
])(
  "%j: an error of the words is its sentence, and names the command's own help, also where the command found it",
  async (args, said) => {
    expect(await hooklineInProcess(args)).toEqual({ status: 64, stdout: "", stderr: said })
  },
)

test("every command's help has one example, of that command, and is what hookline help prints, in 80 columns", async () => {
  for (const name of commands.keys()) {
    const [own, printed] = [
      await hooklineInProcess([...name, "--help"]),
      await hooklineInProcess(["help", ...name]),
    ]
    expect([name, own.status]).toEqual([name, 0])
    expect(own.stdout).toStartWith(`Usage: hookline ${name.join(" ")} `)
    expect(own.stdout.split("\nExample:\n  ")[1]).toContain(`hookline ${name.join(" ")}`)
    expect(printed.stdout).toBe(own.stdout)
    const [text = ""] = own.stdout.split("\nExample:")
    expect(text.split("\n").filter((line) => line.length > 80)).toEqual([])
  }
  const { stdout } = await hooklineInProcess(["--help"])
  expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([])
})

test("the manual page has every command with its options", () => {
  const page = renderManPage().replaceAll("\\-", "-")
  for (const [name, command] of commands) {
    const [, section = ""] = page.split(`\n.SS hookline ${name.join(" ")}`)
    const [own = ""] = section.split("\n.SS ")
    const options = help.visibleOptions(command).map((option) => option.flags)
    expect(options.filter((option) => option !== "-h, --help" && !own.includes(option))).toEqual([])
  }
})

test.skipIf(!hasTools("groff"))("groff has nothing to complain about in the manual page", () => {
  const { stderr, exitCode } = Bun.spawnSync(["groff", "-man", "-Tutf8", "-wall", "docs/hookline.1"], {
    cwd: join(import.meta.dir, "../.."),
  })
  expect([exitCode, stderr.toString()]).toEqual([0, ""])
})

test("every exit status of a fault is in the table, which docs/command-line.md has", () => {
  const page = readFileSync(join(import.meta.dir, "../../docs/command-line.md"), "utf8")
  for (const { exit } of Object.values(FAULTS)) expect(EXIT_STATUSES).toHaveProperty(`${exit}`)
  for (const [status, meaning] of Object.entries(EXIT_STATUSES))
    expect(page).toContain(`\n| ${status} | ${meaning} |\n`)
})

test("exit statuses are those of the table", async () => {
  await Bun.write(conf, CONFIGURATION)
  await Bun.write(join(folder.path, "wrong.conf"), "[connection:log]\ndirectroy = log\n")
  const silent = Bun.serve({ port: 0, fetch: () => new Response(null, { status: 503 }) })
  const table = [
    [0, ["check", "-c", conf]],
    [64, ["tail", "webhooks", "--since", "tomorrow", "-c", conf]],
    [64, ["tail", "webhooks", "-n", "1", "--offset", "1", "-c", conf]],
    [64, ["tail", "webhooks", "--connection", "other", "-c", conf]],
    [66, ["check", "-c", join(folder.path, "none.conf")]],
    [66, ["tail", "webhooks", "-c", conf]],
    [78, ["check", "-c", join(folder.path, "wrong.conf")]],
    [78, ["tail", "webhooks", "-c", join(folder.path, "wrong.conf")]],
    [1, ["send", silent.url.href]],
    [1, ["verify", "-p", "github", "-s", "s", "-b", conf]],
  ] as const
  for (const [status, args] of table) expect([args, (await hookline(args)).status]).toEqual([args, status])
  await silent.stop(true)
})

test("data is printed as JSON on request", async () => {
  const own = folder.make("data")
  await using running = await startHookline(CONFIGURATION, { folder: own })
  const json = async (...args: string[]): Promise<unknown> => JSON.parse((await hookline(args)).stdout)
  expect(await json("send", running.urls["webhooks"]!, "-n", "2", "--json")).toMatchObject({
    sent: 2,
    answers: { 200: 2 },
    latency_ms: { p50: expect.any(Number), p99: expect.any(Number) },
  })
  expect(await json("topics", "--json", "-c", join(own, "pipelines.conf"))).toEqual([
    { connection: "log", topic: "webhooks", partitions: 1, records: 2, bytes: expect.any(Number) },
  ])
  expect(await json("version", "--json")).toEqual({
    hookline: expect.stringMatching(/^\d+\.\d+\.\d+/),
    bun: Bun.version,
  })
  const body = join(own, "body")
  await Bun.write(body, "{}")
  const signed = `sha256=${new Bun.CryptoHasher("sha256", "other").update("{}").digest("hex")}`
  const flags = ["-p", "github", "-b", body, "-H", `X-Hub-Signature-256: ${signed}`, "--json"]
  expect(await json("verify", "-s", "other", ...flags)).toMatchObject({ verified: true, signed: "{}" })
  expect(await json("verify", "-s", "a-secret", ...flags)).toMatchObject({
    provider: "github",
    verified: false,
    reason: "no_match",
    received: [expect.any(String)],
    expected: [expect.any(String)],
  })
})
