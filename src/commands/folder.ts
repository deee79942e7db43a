import { HooklineError } from "../errors.ts"

/**
 * Goes to the folder that the command line is about. bin/hookline starts Bun in Hookline's own folder, since Bun reads
 * package.json and tsconfig.json of the one that it starts in; without it the process is in the right one already.
 *
 * @throws HooklineError `no_input`
 */
export function enterFolder(): void {
  const folder = process.env.HOOKLINE_FOLDER
  if (folder === undefined) return
  delete process.env.HOOKLINE_FOLDER
  try {
    process.chdir(folder)
  } catch (error) {
    throw new HooklineError("no_input", `${folder} can't be entered: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/**
 * Leaves it, as a daemon does, for the root: Bun reads the two files for each thread and each worker, too. To be called
 * when all paths of the command line are resolved.
 */
export function leaveFolder(): void {
  process.chdir("/")
}
