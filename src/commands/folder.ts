import { HooklineError } from "../errors.ts"

/**
 * Enters the user's working directory. bin/hookline starts Bun in Hookline's own folder, since Bun reads package.json and
 * tsconfig.json of its working directory; without bin/hookline the process is in the right one already.
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
    const reason = folder.includes("\ufffd") ? "its name is not UTF-8; rename it" : (error as Error).message
    throw new HooklineError("no_input", `${folder} can't be entered: ${reason}`, { cause: error })
  }
}

/**
 * Changes to the root directory, as a daemon does: Bun reads the two files for each thread, too. Call it after
 * resolving the paths of the command line.
 */
export function leaveFolder(): void {
  process.chdir("/")
}
