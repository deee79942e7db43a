import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { startHookline } from "./hookline.ts"
import { freePort } from "./ports.ts"

const root = join(import.meta.dir, "../..")

/** The command line as `npm run build:binary` makes it. */
export class Binary {
  readonly file: string
  readonly #folder: string

  private constructor(folder: string, file: string) {
    this.#folder = folder
    this.file = file
  }

  /** The one that the run has built, or a new one in the folder. */
  static build(folder: string): Binary {
    const built = process.env.HOOKLINE_TEST_PROGRAM
    if (built !== undefined) return new Binary(folder, built)
    const binary = new Binary(folder, join(folder, "hookline"))
    const command = [process.execPath, join(root, "scripts/build-binary.ts"), binary.file]
    const { exitCode, stderr } = Bun.spawnSync(command, { cwd: root })
    if (exitCode !== 0) throw new Error(stderr.toString())
    return binary
  }

  /** Runs it to its end; nothing that a checkout or an installation has is there for it. */
  run(...args: readonly string[]): string {
    const { exitCode, stdout, stderr } = Bun.spawnSync([this.file, ...args], { cwd: this.#folder, env: {} })
    if (exitCode !== 0) throw new Error(stderr.toString())
    return stdout.toString()
  }

  /** Publishes three events by a pipeline on a connection, and reads them back. */
  async publishAndRead(connection: string, topic: string, service = ""): Promise<unknown[]> {
    const folder = join(this.#folder, topic)
    mkdirSync(folder)
    const port = await freePort()
    const configuration = `${connection}
[pipeline:hooks:WebHookSource]
host = 127.0.0.1
port = ${port}
[pipeline:hooks:BrokerSink]
topic = ${topic}
[admin]
listen = off
${service}`
    const hookline = await startHookline(configuration, { folder, program: [this.file] })
    for (const a of [1, 2, 3]) {
      const body = `{"a":${a},"text":"${"x".repeat(2000)}"}`
      const answer = await fetch(`http://127.0.0.1:${port}/webhook`, { method: "POST", body })
      if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`)
    }
    if ((await hookline.stop()) !== 0) throw new Error(hookline.output())
    const lines = this.run("tail", topic, "-c", join(folder, "pipelines.conf")).trim().split("\n")
    return lines.map((line) => (JSON.parse(line) as { a: unknown }).a)
  }
}
