import { join } from "node:path"
import { endingWithThisProcess } from "./child.ts"

const cli = join(import.meta.dir, "../../src/cli.ts")

/** A command of the CLI that runs. Disposing of it kills it. */
export interface RunningCommand extends AsyncDisposable {
  /** Everything that it has written to standard output and standard error. */
  output(): string
  /** Resolves with all that was written, once it matches; rejects when the process ends before. */
  printed(pattern: RegExp): Promise<string>
  signal(signal: NodeJS.Signals): void
  /** Resolves with the exit status, or the name of the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>
}

export function startCommand(
  args: readonly string[],
  cwd: string,
  env: { readonly [name: string]: string } = {},
): RunningCommand {
  let output = ""
  let hasEnded = false
  let changed = Promise.withResolvers<void>()
  const wake = (): void => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  const child = Bun.spawn(endingWithThisProcess(process.execPath, cli, ...args), {
    cwd,
    env: { ...process.env, NO_COLOR: "1", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  })
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const bytes of stream) {
      output += decoder.decode(bytes, { stream: true })
      wake()
    }
  }
  const exited = (async () => {
    await Promise.all([read(child.stdout), read(child.stderr)])
    const status = await child.exited
    hasEnded = true
    wake()
    return child.signalCode ?? status
  })()
  return {
    output: () => output,
    async printed(pattern) {
      while (!pattern.test(output)) {
        if (hasEnded) throw new Error(`${args.join(" ")} ended before ${pattern}:\n${output}`)
        await changed.promise
      }
      return output
    },
    signal: (signal) => child.kill(signal),
    exited,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL")
      await exited
    },
  }
}
