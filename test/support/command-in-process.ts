import { join } from "node:path"
import { formatWithOptions } from "node:util"
import { runCommandLine } from "../../src/commands/command-line.ts"
import { printedError } from "../../src/commands/printed-error.ts"
import { HooklineError } from "../../src/errors.ts"
import type { Ended } from "./child.ts"

const root = join(import.meta.dir, "../..")

/**
 * Runs `hookline` with arguments to its end as `hookline` of `hookline.ts` does, but in this process, which saves a start:
 * for commands that read no standard input, handle no signal and end by themselves. One at a time.
 */
export async function hooklineInProcess(
  args: readonly string[],
  { cwd = root, env = {} }: { cwd?: string; env?: { [name: string]: string } } = {},
): Promise<Ended> {
  const before = { cwd: process.cwd(), env: process.env, status: process.exitCode }
  const out = captured(process.stdout, "log")
  const err = captured(process.stderr, "error")
  process.chdir(cwd)
  process.env = { ...before.env, ...env }
  process.exitCode = 0
  try {
    await runCommandLine(args)
    return { status: Number(process.exitCode), stdout: out.text(), stderr: err.text() }
  } catch (error) {
    if (!(error instanceof HooklineError)) throw error
    return { status: error.exitCode, stdout: out.text(), stderr: `${err.text()}${printedError(error)}\n` }
  } finally {
    process.exitCode = before.status ?? 0
    process.env = before.env
    process.chdir(before.cwd)
    out[Symbol.dispose]()
    err[Symbol.dispose]()
  }
}

/** Takes what is written to a stream, and by the method of `console` that writes to it. */
function captured(stream: NodeJS.WriteStream, method: "log" | "error"): { text: () => string } & Disposable {
  const [write, print] = [stream.write, console[method]]
  let text = ""
  stream.write = ((chunk: string | Uint8Array) => {
    text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString()
    return true
  }) as typeof write
  console[method] = (...values: unknown[]) => {
    text += `${formatWithOptions({ colors: false }, ...values)}\n`
  }
  return {
    text: () => text,
    [Symbol.dispose]() {
      stream.write = write
      console[method] = print
    },
  }
}
