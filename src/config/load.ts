import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { HooklineError } from "../errors.ts"
import type { Steps } from "../slices.ts"
import { whyUnreadable, type Surroundings } from "./interpolate.ts"
import { readSeed, type Seed } from "./seed.ts"

/** The file that is read when none is named. */
const DEFAULT_FILE = "pipelines.conf"

/**
 * Reads the configuration file: the one that is named, else $HOOKLINE_CONFIG, else ./pipelines.conf. What is wrong in it
 * is in the result.
 *
 * @param file as `-c` gives it
 * @param surroundings `cwd`: absolute path of the folder that it is looked for from; `reads`: told of each file that is
 *   read, as an absolute path, whether it can be read or not
 * @throws HooklineError `no_input` when it can't be read, saying what to do
 */
export function* loadSeed(
  file: string | undefined,
  { env, cwd, reads }: Pick<Surroundings, "env" | "reads"> & { cwd: string },
): Steps<Seed> {
  // An empty variable is as good as none, as in a shell's ${HOOKLINE_CONFIG:-}.
  const fromEnv = env.HOOKLINE_CONFIG === "" ? undefined : env.HOOKLINE_CONFIG
  const chosen = file ?? fromEnv ?? DEFAULT_FILE
  const path = resolve(cwd, chosen)
  reads?.(path)
  let bytes
  try {
    bytes = readFileSync(path)
  } catch (error) {
    const advice =
      file !== undefined
        ? "check the path behind -c"
        : fromEnv !== undefined
          ? "check the variable HOOKLINE_CONFIG"
          : "write one in this folder, or name another with -c FILE or the variable HOOKLINE_CONFIG"
    throw new HooklineError(
      "no_input",
      `the configuration file ${chosen} ${whyUnreadable(error)}; ${advice}`,
      { cause: error },
    )
  }
  return yield* readSeed(bytes, chosen, { env, baseDir: dirname(path), reads })
}
