import { Command, CommanderError } from "commander"
import { FAULTS, HooklineError } from "../errors.ts"
import { declareRun, emptyProgram, nameOf, pointToHelp } from "./declare-run.ts"

// The other commands are declared where one of them is called, so that a service neither waits for them nor keeps them in memory.

/** Runs what a command line says. @param words without the program's name; @throws HooklineError and faults */
export async function runCommandLine(words: readonly string[]): Promise<void> {
  let called: Command | undefined
  try {
    const program = words[0] === "run" ? serviceAlone() : await whole(words)
    program.hook("preAction", (_, command) => void (called = command))
    await program.parseAsync(words, { from: "user" })
  } catch (error) {
    if (called !== undefined && error instanceof HooklineError && error.code === "usage")
      throw new HooklineError("usage", `${error.message}\n(see ${nameOf(called)} --help)`, { cause: error })
    // it has printed its message
    if (!(error instanceof CommanderError)) throw error
    process.exitCode = error.exitCode === 0 ? 0 : FAULTS.usage.exit
  }
}

function serviceAlone(): Command {
  const program = emptyProgram()
  declareRun(program)
  pointToHelp(program)
  return program
}

/** @throws HooklineError `usage` */
async function whole(words: readonly string[]): Promise<Command> {
  const { declareProgram, refuseUnknownCommand } = await import("./program.ts")
  const program = declareProgram()
  await refuseUnknownCommand(program, words)
  return program
}
