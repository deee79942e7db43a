import { beforeAll, expect, test } from "bun:test"
import { symlinkSync } from "node:fs"
import { join } from "node:path"
import { hookline, folderOfTests } from "../support/hookline.ts"
import { hasTools } from "../support/tools.ts"

const root = join(import.meta.dir, "../..")
const folder = folderOfTests()
const env = { ...process.env, PATH: `${folder.path}:${process.env.PATH}`, TERM: "dumb", HOME: folder.path }

beforeAll(async () => {
  symlinkSync(join(root, "bin/hookline"), join(folder.path, "hookline"))
  await Bun.write(
    join(folder.path, "pipelines.conf"),
    `[connection:main]
directory = log
[connection:$(touch ran)]
directory = other
[provider:a;touch ran]
[pipeline:invoices:WebHookSource]
path = /invoices
[pipeline:invoices:Verifier]
provider = stripe
secret = \${NO_SUCH_VARIABLE}
[pipeline:invoices:BrokerSink]
topic = invoices
dead_letter_topic = invoices.dead
[pipeline:invoices:Router]
by = json:/type
invoice.* = billing
customer.* = crm
other.* = b\`touch ran\`
* = drop
[pipeline:letters:BrokerSink]
connection = main
topic = letters
[pipeline:hostile:BrokerSink]
topic = $(touch ran)
dead_letter_topic = a;touch ran
`,
  )
})

/** The words that the last of a command line may be completed to. */
async function completed(...words: string[]): Promise<string[]> {
  const { status, stdout, stderr } = await hookline(["complete", "--", ...words], { cwd: folder.path })
  expect([status, stderr]).toEqual([0, ""])
  return stdout.split("\n").flatMap((line) => (line === "" ? [] : line.split("\t")[0]!))
}

test.each([
  [["t"], ["tail", "topics"]],
  [
    ["spool", ""],
    ["status", "quarantine", "drain"],
  ],
  [
    ["help", "ver"],
    ["verify", "version"],
  ],
  [
    ["tail", "inv"],
    ["invoices", "invoices.dead"],
  ],
  [["tail", "-f", "invoices", "let"], ["letters"]],
  [
    ["tail", ""],
    // nothing that a shell would take for more than a word
    ["invoices", "invoices.dead", "billing", "crm", "letters"],
  ],
  [["tail", "--connection", ""], ["main"]],
  [["topics", "--connection=m"], ["--connection=main"]],
  [["tail", "--format=j"], ["--format=json"]],
  [["tail", "-o", "j"], ["json"]],
  [
    ["tail", "--fo"],
    ["--follow", "--format"],
  ],
  [["forward", "m"], ["main/letters"]],
  [
    ["forward", "re"],
    ["retry", "resume", "remove"],
  ],
  [["replay", "--to", "m"], ["main/letters"]],
  [["verify", "-p", "strip"], ["stripe"]],
  [["verify", "-p", "a;"], []],
  [["run", "-c", ""], [":files"]],
  [["tail", "-c", "no-such-file", ""], []],
  [["tail", "-n", ""], []],
  [["nonsense", ""], []],
] as const)("%j is completed to %j", async (words, expected) => {
  expect(await completed(...words)).toEqual([...expected])
})

test("no hidden command is offered, and each has what it does", async () => {
  const { stdout } = await hookline(["complete", "--", ""])
  const lines = stdout.trim().split("\n")
  expect(lines.length).toBeGreaterThan(8)
  expect(lines.filter((line) => !/^[a-z]+\t.{20}/.test(line))).toEqual([])
  expect(stdout).not.toMatch(/^complete\t/m)
})

/** Types a line into a shell on a terminal, with the Tab key at its end, until the terminal shows a text. */
async function typed(shell: readonly string[], setUp: string, line: string, shows: string): Promise<void> {
  let shown = ""
  const ready = Promise.withResolvers<void>()
  const found = Promise.withResolvers<void>()
  const child = Bun.spawn([...shell], {
    cwd: folder.path,
    env: { ...env, PS1: "$ " },
    terminal: {
      cols: 200,
      data(_, bytes) {
        shown += Buffer.from(bytes).toString()
        if (shown.includes("set-up-done")) ready.resolve()
        if (Bun.stripANSI(shown).includes(shows)) found.resolve()
      },
    },
  })
  try {
    // in two parts, since the terminal shows what is typed as well
    child.terminal!.write(`${setUp}; echo set-up-"done"\n`)
    await ready.promise
    child.terminal!.write(`${line}\t`)
    await found.promise
  } finally {
    child.kill("SIGKILL")
    await child.exited
    child.terminal!.close()
  }
}

const SHELLS = {
  bash: [["bash", "--norc", "--noprofile", "-i"], "source <(hookline completion bash)"],
  zsh: [["zsh", "-f", "-i"], "autoload -U compinit; compinit -u; source <(hookline completion zsh)"],
} as const

for (const [name, [shell, setUp]] of Object.entries(SHELLS)) {
  test.skipIf(!hasTools(name)).each([
    ["a command", "hookline chec", "hookline check "],
    ["a topic", "hookline tail let", "hookline tail letters "],
    ["a choice behind an equals sign", "hookline tail --format=js", "--format=json"],
    ["a file", "hookline check -c pipe", "-c pipelines.conf"],
  ])(`${name} completes %s`, (_, line, shows) => typed(shell, setUp, line, shows))
}

test.skipIf(!hasTools("fish")).each([
  ["a command", "hookline chec", "check"],
  ["a topic", "hookline tail let", "letters"],
  ["a choice behind an equals sign", "hookline tail --format=js", "--format=json"],
  ["a file", "hookline check -c pipe", "pipelines.conf"],
])("fish completes %s", async (_, line, expected) => {
  const command = `hookline completion fish | source; complete -C ${JSON.stringify(line)}`
  const child = Bun.spawn(["fish", "--no-config", "-c", command], { cwd: folder.path, env, stdout: "pipe" })
  const [word] = (await new Response(child.stdout).text()).split(/[\t\n]/)
  expect(word).toBe(expected)
})
