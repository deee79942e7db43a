import { CommanderError } from "commander"
import { enterFolder } from "./commands/folder.ts"
import { declareProgram, refuseUnknownCommand } from "./commands/program.ts"
import { HooklineError } from "./errors.ts"
import { escapeControls } from "./telemetry/escape-controls.ts"

/** The exit status for a usage error, of sysexits.h. */
const EX_USAGE = 64
/** That of programs which SIGPIPE ends: Bun ignores the signal, writing fails instead. */
const BROKEN_PIPE = 141

// Those write their log alone, and Bun makes a pipe non-blocking, for all that write to it, when its stream is used
if (!["run", "worker"].includes(process.argv[2] ?? "")) {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    const isTerminalClosed = error.code === "EIO" && process.stdout.isTTY
    if (error.code === "EPIPE" || isTerminalClosed) process.exit(BROKEN_PIPE)
    throw error
  })
}
// Bun would print the requests that Hookline makes, with tokens and secrets
if (process.env.BUN_CONFIG_VERBOSE_FETCH !== undefined) process.env.BUN_CONFIG_VERBOSE_FETCH = "0"

try {
  enterFolder()
  const program = declareProgram()
  refuseUnknownCommand(program, process.argv.slice(2))
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : EX_USAGE
  else if (error instanceof HooklineError) {
    console.error(escapeControls(error.message))
    process.exitCode = error.exitCode
  } else {
    console.error(error)
    process.exitCode = 70
  }
}
