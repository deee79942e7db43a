import type { Command, Option } from "commander"
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { declareProgram } from "../../src/commands/program.ts"
import { namesIn, positionFile, Positions } from "../../src/replay/positions.ts"
import { hookline, temporaryFolder } from "../support/hookline.ts"

/** A value of each kind that options and arguments name. */
const VALUES: { readonly [name: string]: string } = {
  "connection/topic": "log/payments",
  url: "http://127.0.0.1:1/",
  condition: "key=a",
  time: "2026-11-22T14:00",
  duration: "1h",
  "key=value": "header=X-Signature",
  header: "X-A: b",
  number: "7",
  offset: "7",
  seconds: "7",
}

interface Called {
  readonly name: string
  /** As JSON, by attribute; conditions, which are functions, as "set". */
  readonly values: { readonly [attribute: string]: string }
}

const nameOf = (command: Command): string =>
  command.parent === null ? "" : `${nameOf(command.parent)} ${command.name()}`.trim()

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}

/** The command that a command line ends in, with the options that the line sets. */
async function called(line: readonly string[]): Promise<Called> {
  const program = declareProgram()
  let result: Called | undefined
  for (const command of everyCommand(program)) {
    command.exitOverride().configureOutput({ writeErr() {} })
    command.action(() => {
      const set = command.options.map((it) => it.attributeName())
      const values = set.filter((it) => command.getOptionValueSource(it) === "cli")
      result = {
        name: nameOf(command),
        values: Object.fromEntries(
          values.map((it) => [it, JSON.stringify(command.getOptionValue(it)) ?? "set"]),
        ),
      }
    })
  }
  await program.parseAsync(line, { from: "user" })
  return result!
}

const textOf = (named: string | undefined, choices: readonly string[] | undefined): string =>
  choices?.[0] ?? VALUES[named ?? ""] ?? "text"

function wordsOf({ long, required, flags, argChoices }: Option): string[] {
  return required ? [long!, textOf(/<([^>]+)>$/.exec(flags)?.[1], argChoices)] : [long!]
}

const operandsOf = (command: Command): string[] =>
  command.registeredArguments.filter((it) => it.required).map((it) => textOf(it.name(), it.argChoices))

const leaves = everyCommand(declareProgram()).filter((it) => it.parent !== null && it.commands.length === 0)
/** Each option of each command, and a command that has subcommands where it does something itself. */
const cases = [...leaves, declareProgram().commands.find((it) => it.name() === "forward")!].flatMap(
  (command) =>
    command.options.map((option) => ({ command, option, title: `${nameOf(command)} ${option.long}` })),
)

test.each(cases)(
  "$title reaches its command at each position after its name",
  async ({ command, option }) => {
    const name = nameOf(command).split(" ")
    const mandatory = command.options.filter((it) => it.mandatory && it !== option).flatMap(wordsOf)
    const words = wordsOf(option)
    const operands = [...mandatory, ...operandsOf(command)]
    const first = await called([...name, ...words, ...operands])
    expect(first.name).toBe(nameOf(command))
    expect(Object.keys(first.values)).toContain(option.attributeName())
    for (let at = 0; at <= operands.length; at += 2)
      expect(await called([...name, ...operands.slice(0, at), ...words, ...operands.slice(at)])).toEqual(
        first,
      )
  },
)

test.each(cases.filter(({ command }) => command.parent!.parent !== null))(
  "$title given before the subcommand reaches it or is refused",
  async ({ command, option }) => {
    const [group, name] = nameOf(command).split(" ") as [string, string]
    const operands = operandsOf(command)
    const line = [group, ...wordsOf(option), name, ...operands]
    const after = await called([group, name, ...operands, ...wordsOf(option)])
    const before = await called(line).catch((error: { code: string }) => error.code)
    if (typeof before === "string") expect(before).toStartWith("commander.")
    else expect(before).toEqual(after)
  },
)

test.each(cases.filter(({ option }) => option.long === "--config"))(
  "$title is the same before the command",
  async ({ command, option }) => {
    const words = [...nameOf(command).split(" "), ...operandsOf(command)]
    const mandatory = command.options.filter((it) => it.mandatory).flatMap(wordsOf)
    const after = await called([...words, ...mandatory, ...wordsOf(option)])
    for (const first of [wordsOf(option), ["--config=text"], ["-c", "text"], ["-ctext"]])
      expect(await called([...first, ...words, ...mandatory])).toEqual(after)
  },
)

test("the file before a command that reads none is refused, and the command after it is looked at first", async () => {
  await expect(called(["-c", "a.conf", "version"])).rejects.toMatchObject({
    message: expect.stringContaining("hookline version has no option --config"),
  })
  for (const first of [["-c", "a.conf"], ["-ca.conf"], ["--config=a.conf"]])
    expect((await hookline([...first, "tial", "webhooks", "--follow"])).stderr).toStartWith(
      'unknown command "tial"; did you mean "tail"?',
    )
})

test("an option that a subcommand does not have is refused before its name too, not ignored", () => {
  expect(called(["forward", "--retries", "7", "list"])).rejects.toMatchObject({
    message: expect.stringContaining("hookline forward list has no option --retries"),
  })
})

test("the value next to the subcommand wins over the one before it", async () => {
  const { values } = await called(["forward", "-c", "a.conf", "remove", "x", "-c", "b.conf"])
  expect(values).toEqual({ config: '"b.conf"' })
})

const page = (name: string): string => readFileSync(join(import.meta.dir, "../../docs", name), "utf8")

test("docs/command-line.md has each command in its table, and no other one", () => {
  const [, table = ""] = /\n\| command .*\n\|.*\n((?:\|.*\n)+)/.exec(page("command-line.md"))!
  const rows = table.split("\n").map((row) => (row.split("|")[1] ?? "").matchAll(/`([a-z]+(?: [a-z]+)?)/g))
  const named = rows.flatMap((row) => [...row].map(([, name]) => name!))
  const hidden = ["complete"]
  expect(leaves.map(nameOf).filter((it) => !named.includes(it))).toEqual(hidden)
  expect(everyCommand(declareProgram()).map(nameOf)).toEqual(expect.arrayContaining(named))
})

test("docs/command-line.md names each command that has --json", () => {
  const [sentence = ""] = /^.* print JSON with `--json`.*$/m.exec(page("command-line.md"))!
  const named = [...sentence.matchAll(/`([a-z]+(?: [a-z]+)?)(?: --[a-z ]+)?`/g)].map(([, name]) => name!)
  const having = everyCommand(declareProgram()).filter(({ options }) =>
    options.some((it) => it.long === "--json"),
  )
  expect(having.map(nameOf).filter((it) => !named.includes(it))).toEqual([])
})

test("a flag means one thing in all commands, and what a section's option of its name means", () => {
  const valueOf = (long: string): Set<string> =>
    new Set(
      everyCommand(declareProgram()).flatMap((it) =>
        it.options.filter((of) => of.long === long).map((of) => of.flags),
      ),
    )
  expect(valueOf("--from")).toEqual(new Set(["--from <connection/topic>"]))
  expect(valueOf("--begin")).toEqual(new Set(["--begin <where>"]))
  const forwarding = declareProgram().commands.find((it) => it.name() === "forward")!
  const { defaultValue } = forwarding.options.find((it) => it.long === "--retries")!
  const [, ofSection] = /\n\| `retries` \|[^|]*\| `(\d+)` \|/.exec(page("reference.md"))!
  expect(`${defaultValue}`).toBe(ofSection!)
})

const CALLS = [...page("runbook.md").matchAll(/`hookline ([^`]+)`/g)].map(([, words]) => words!)
test.each([...new Set(CALLS)])("the runbook's hookline %s is a command with these options", async (words) => {
  const line = words.split(" ")
  const program = declareProgram()
  const group = program.commands.find((it) => it.name() === line[0])
  const command = group?.commands.find((it) => it.name() === line[1]) ?? group
  expect(command).toBeDefined()
  const given = line.slice(nameOf(command!).split(" ").length).filter((it) => !it.startsWith("-")).length
  expect((await called([...line, ...operandsOf(command!).slice(given)])).name).toBe(nameOf(command!))
})

const CONFIGURATION = `[connection:log]
directory = log
[pipeline:a:WebHookSource]
port = 0
[pipeline:a:BrokerSink]
topic = payments
`

test("hookline forward removes and lists the forwards of the file and the folder that it is given", async () => {
  using folder = temporaryFolder()
  const state = (side: string): string => join(folder.path, side, ".hookline")
  for (const side of ["A", "B"]) {
    await Bun.write(join(folder.path, side, "p.conf"), CONFIGURATION)
    await Bun.write(join(folder.path, side, "pipelines.conf"), CONFIGURATION)
    const store = Positions.advance(positionFile(state(side), "forward", `of-${side}`))
    store.begin(
      { connection: "log", topic: "payments", url: "http://localhost:1/" },
      { next: new Map(), replayed: 0, failed: 0 },
    )
    store.close()
  }
  const run = async (...args: string[]) => hookline(["forward", ...args], { cwd: join(folder.path, "A") })
  for (const flags of [
    ["-c", "../B/p.conf"],
    ["--state", state("B")],
  ]) {
    expect((await run("remove", "of-A", ...flags)).status).toBe(66)
    expect((await run(...flags, "remove", "of-A")).status).toBe(66)
    expect(JSON.parse((await run("list", "--json", ...flags)).stdout)).toMatchObject([{ name: "of-B" }])
  }
  expect(namesIn(state("A"), "forward")).toEqual(["of-A"])
  expect((await run("remove", "of-B", "-c", "../B/p.conf")).stdout).toBe("of-B removed\n")
  expect(namesIn(state("B"), "forward")).toEqual([])
})
