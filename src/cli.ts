import { enterFolder } from "./commands/folder.ts"
import { holdHangups } from "./commands/interruption.ts"
import { printedError } from "./commands/printed-error.ts"
import { FAULTS, HooklineError } from "./errors.ts"
import { missingPackage } from "./process/missing-package.ts"
import { Unanswered } from "./process/regular-file.ts"

// No import above reaches a package: where one is missing, this module still runs and says what to do.

/** That of programs which SIGPIPE ends: Bun ignores the signal, writing fails instead. */
const BROKEN_PIPE = 141

// A service writes its log alone, and Bun makes a pipe non-blocking, for all that write to it, when its stream is used
if (process.argv[2] !== "run") {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    const isTerminalClosed = error.code === "EIO" && process.stdout.isTTY
    if (error.code === "EPIPE" || isTerminalClosed) process.exit(BROKEN_PIPE)
    const reason = error.code === "ENOSPC" ? "no space is left on its disk" : error.message
    console.error(`standard output can't be written: ${reason}`)
    process.exit(FAULTS.log_io.exit)
  })
}
if (process.argv[2] === "run") holdHangups()
// Bun would print the requests that Hookline makes, with tokens and secrets
if (process.env.BUN_CONFIG_VERBOSE_FETCH !== undefined) process.env.BUN_CONFIG_VERBOSE_FETCH = "0"
// Passwords and tokens go over TLS: a variable meant for other programs must not end the checks of certificates
delete process.env.NODE_TLS_REJECT_UNAUTHORIZED

try {
  enterFolder()
  const { runCommandLine } = await import("./commands/command-line.ts")
  await runCommandLine(process.argv.slice(2))
} catch (error) {
  const known = error instanceof HooklineError ? error : wronglyInstalled(error)
  console.error(known === undefined ? error : printedError(known))
  process.exitCode = known?.exitCode ?? 70
  // the request that has no answer would keep the process
  if (error instanceof Unanswered) process.exit()
}

/** The error of an import that fails since node_modules is not what package.json asks for; undefined: it is another one. */
function wronglyInstalled(error: unknown): HooklineError | undefined {
  const missing = missingPackage(error)
  return missing === undefined ? undefined : new HooklineError("unavailable", `hookline: ${missing}`)
}
