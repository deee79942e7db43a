import { endingWithThisProcess } from "./child.ts"
import { PROGRAM } from "./program.ts"

/** A command that runs. Disposing of it kills it. */
export interface RunningCommand extends AsyncDisposable {
  readonly pid: number
  /** Everything that it has written to standard output and standard error, or to its terminal. */
  output(): string
  /** Resolves with all that was written, without colours, once it matches; rejects when the process ends before. */
  printed(pattern: RegExp): Promise<string>
  signal(signal: NodeJS.Signals): void
  /** Presses keys on its terminal. */
  press(keys: string): void
  /** Resolves with the exit status, or the name of the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>
}

export interface CommandSettings {
  readonly env?: { readonly [name: string]: string | undefined }
  /** Columns of the terminal that it has; undefined: it has none. */
  readonly columns?: number
  /** What the arguments are given to; undefined: `PROGRAM`. */
  readonly program?: readonly string[]
}

/** Starts a command of the CLI in a folder. */
export function startCommand(
  args: readonly string[],
  cwd: string,
  { env, columns, program = PROGRAM }: CommandSettings = {},
): RunningCommand {
  let output = ""
  let hasEnded = false
  let changed = Promise.withResolvers<void>()
  const wake = (): void => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  const decoder = new TextDecoder()
  const add = (bytes: Uint8Array): void => {
    output += decoder.decode(bytes, { stream: true })
    wake()
  }
  const command = [...program, ...args]
  const options = { cwd, env: { ...process.env, ...env } }
  const hungUp = Promise.withResolvers<void>()
  const child =
    columns === undefined
      ? Bun.spawn(endingWithThisProcess(...command), {
          ...options,
          env: { ...options.env, NO_COLOR: "1" },
          stdin: "ignore",
          stdout: "pipe",
          stderr: "pipe",
        })
      : Bun.spawn(command, {
          ...options,
          // CI: no browser is opened
          env: { ...process.env, CI: "true", ...env, TERM: "xterm" },
          terminal: { cols: columns, data: (_, bytes) => add(bytes), exit: () => hungUp.resolve() },
        })
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const bytes of stream) add(bytes)
  }
  const exited = (async () => {
    const streams = [child.stdout, child.stderr].filter((it) => it instanceof ReadableStream)
    await (columns === undefined ? Promise.all(streams.map(read)) : hungUp.promise)
    const status = await child.exited
    hasEnded = true
    wake()
    return child.signalCode ?? status
  })()
  return {
    pid: child.pid,
    output: () => output,
    async printed(pattern) {
      while (!pattern.test(Bun.stripANSI(output))) {
        if (hasEnded) throw new Error(`${command.join(" ")} ended before ${pattern}:\n${output}`)
        await changed.promise
      }
      return Bun.stripANSI(output)
    },
    signal: (signal) => child.kill(signal),
    press: (keys) => void child.terminal!.write(keys),
    exited,
    async [Symbol.asyncDispose]() {
      // what a terminal's process has started is in its group, and keeps the terminal open
      if (columns === undefined || hasEnded) child.kill("SIGKILL")
      else process.kill(-child.pid, "SIGKILL")
      await exited
      child.terminal?.close()
    },
  }
}

/** Starts `hookline dev` in a folder; resolves when it has introduced itself. */
export async function startDev(
  args: readonly string[],
  cwd: string,
  settings: CommandSettings = {},
): Promise<RunningCommand> {
  const env = { HOOKLINE_SECRET: undefined, ...settings.env }
  const running = startCommand(["dev", ...args], cwd, { ...settings, env })
  await running.printed(/^ {2}Keys/m)
  return running
}
