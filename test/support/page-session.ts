import { expect } from "bun:test"
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { runToEnd } from "./child.ts"
import { completed, nameOf, ROOT, type Block } from "./documents.ts"
import { temporaryFolder } from "./hookline.ts"
import { freePorts } from "./ports.ts"
import { startCommand, type RunningCommand } from "./running-command.ts"

/** The configuration that a checkout comes with. */
export const BASE = readFileSync(join(ROOT, "pipelines.conf"), "utf8")
/** Those of package.json, by name. */
export const SCRIPTS = (
  JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    scripts: { start: string; kafka: string }
  }
).scripts

/** What a page's commands are run in. */
export interface Session extends AsyncDisposable {
  /** Puts the sections of a block into pipelines.conf, unless they are there, or writes the file that it names. */
  configure(block: Block): void
  /** Runs the commands of a block, those that serve in the background. Returns what the others and `hookline dev` print. */
  run(block: Block): Promise<string>
}

/**
 * A checkout as the pages expect it, on free ports. What serves has a terminal, and ends by Ctrl-C. `program`: an executable that
 * `bin/hookline` is there, in place of the checkout's own with its source.
 */
export async function openSession({ program }: { program?: string | undefined } = {}): Promise<Session> {
  const folder = temporaryFolder()
  for (const name of ["src", "node_modules", "examples"])
    symlinkSync(join(ROOT, name), join(folder.path, name))
  if (program === undefined) symlinkSync(join(ROOT, "bin"), join(folder.path, "bin"))
  else symlinkSync(program, join(folder.make("bin"), "hookline"))
  copyFileSync(join(ROOT, "package.json"), join(folder.path, "package.json"))
  const [port, adminPort, kafkaPort] = (await freePorts(3)) as [number, number, number]
  const file = join(folder.path, "pipelines.conf")
  const ports = { 8080: port, 9464: adminPort, 9092: kafkaPort }
  const here = (text: string): string =>
    Object.entries(ports).reduce((all, [from, to]) => all.replaceAll(from, `${to}`), text)
  const admin = "\n[admin]\nlisten = 127.0.0.1:9464\n"
  writeFileSync(file, here(BASE + admin))
  const env: Record<string, string | undefined> = { ...process.env, HOOKLINE_TEST_NOTES: undefined }
  let service: RunningCommand | undefined
  let kafka: RunningCommand | undefined

  const start = (command: string, cwd = folder.path): RunningCommand =>
    startCommand([], cwd, { env, columns: 120, program: ["sh", "-c", `exec env ${command}`] })
  /** Ctrl-C, and then the command in the first terminal; resolves with what it has printed once it has started. */
  const serve = async (command: string, isStarted: RegExp): Promise<string> => {
    await stop(service)
    service = start(command)
    return service.printed(isStarted)
  }
  return {
    configure(block) {
      const name = nameOf(block)
      if (name !== undefined) return writeFileSync(join(folder.path, name), here(block.text + admin))
      if (block.text.includes("[connection:kafka]")) return
      const before = readFileSync(file, "utf8")
      if (!before.includes(here(block.text))) writeFileSync(file, completed(here(block.text), before))
    },
    async run({ text }) {
      let output = ""
      for (const line of text.split("\n")) {
        const [, name, value] = /^export (\w+)=(.*)$/.exec(line) ?? []
        if (name !== undefined) env[name] = value!
        // the checkout and its packages are there: this test runs on them
        else if (line === "npm install") continue
        else if (/^(npm install && )?npm start$|^bin\/hookline run /.test(line)) {
          await serve(line.replace("npm install && ", ""), /started/)
        } else if (line === "npm run kafka") {
          kafka = start(`${line} -- --port ${kafkaPort}`, ROOT)
          await kafka.printed(/ listens on /)
        } else if (/^(\w+=\S+ )?bin\/hookline dev\b/.test(line)) {
          const command = `${line} --port ${port} --admin-port 0`
          output += (await serve(command, /^ {2}Keys/m)).replaceAll(`${port}`, "8080")
        } else {
          const ended = await runToEnd(["sh", "-c", here(line)], { cwd: folder.path, env })
          expect(ended.status, `${line}\n${ended.stderr}`).toBe(0)
          output += ended.stdout
        }
      }
      return output.replaceAll("\r", "")
    },
    async [Symbol.asyncDispose]() {
      using _ = folder
      await service?.[Symbol.asyncDispose]()
      await stop(kafka)
    },
  }
}

async function stop(running: RunningCommand | undefined): Promise<void> {
  running?.press("\x03")
  expect(await running?.exited, running?.output()).toBeOneOf([0, undefined])
}

/** Does what the blocks say, and compares what is printed with the text that follows. */
export async function follow(session: Session, steps: readonly Block[]): Promise<void> {
  for (const [index, block] of steps.entries()) {
    if (block.language === "ini") session.configure(block)
    if (block.language !== "sh") continue
    // a test command would run this test
    if (/npm (?:test|run (?!kafka$))/m.test(block.text)) continue
    const output = await session.run(block)
    const shown = steps[index + 1]
    if (shown?.language === "text") expect(normalised(output)).toContain(normalised(shown.text))
  }
}

const normalised = (text: string): string =>
  text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)/g, "TIME")
    .replaceAll(/"request_id":"[\w-]+"/g, '"request_id":"ID"')
    .trim()
