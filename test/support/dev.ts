import { join } from "node:path"
import { endingWithThisProcess } from "./child.ts"

const cli = join(import.meta.dir, "../../src/cli.ts")

/** A `hookline dev` that runs. */
export interface RunningDev extends AsyncDisposable {
  /** Resolves with all that was printed, once it matches; rejects when the process ends before. */
  printed(pattern: RegExp): Promise<string>
  /** Presses keys on its terminal. */
  press(keys: string): void
  interrupt(): void
  readonly exited: Promise<number>
}

/** Starts `hookline dev` in a folder; resolves when it has introduced itself. */
export async function startDev(
  args: readonly string[],
  {
    folder,
    env = {},
    isTerminal = false,
    program = [process.execPath, cli],
  }: { folder: string; env?: object; isTerminal?: boolean; program?: readonly string[] },
): Promise<RunningDev> {
  let output = ""
  let hasEnded = false
  let changed = Promise.withResolvers<void>()
  const add = (bytes: Uint8Array): void => {
    output += Buffer.from(bytes).toString()
    changed.resolve()
    changed = Promise.withResolvers()
  }
  const options = { cwd: folder, env: { ...process.env, HOOKLINE_SECRET: undefined, TERM: "xterm", ...env } }
  const command = [...program, "dev", ...args]
  const child = isTerminal
    ? Bun.spawn(command, { ...options, terminal: { cols: 200, data: (_, bytes) => add(bytes) } })
    : Bun.spawn(endingWithThisProcess(...command), {
        ...options,
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      })
  const streams = [child.stdout, child.stderr].filter((it) => it instanceof ReadableStream)
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const bytes of stream) add(bytes)
  }
  void (async () => {
    await Promise.all([...streams.map(read), child.exited])
    hasEnded = true
    changed.resolve()
  })()
  const running: RunningDev = {
    async printed(pattern) {
      while (!pattern.test(Bun.stripANSI(output))) {
        if (hasEnded) throw new Error(`dev ended before ${pattern}:\n${output}`)
        await changed.promise
      }
      return Bun.stripANSI(output)
    },
    press: (keys) => void child.terminal!.write(keys),
    interrupt: () => child.kill("SIGINT"),
    exited: child.exited,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL")
      await child.exited
      child.terminal?.close()
    },
  }
  await running.printed(/^ {2}Keys/m)
  return running
}
