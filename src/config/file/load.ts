import { existsSync, readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { HooklineError } from "../../errors.ts"
import type { Steps } from "../../clock/slices.ts"
import type { Environment } from "./interpolate.ts"
import { whyUnreadable } from "../../process/paths.ts"
import { answering, readRegularFile } from "../../process/regular-file.ts"
import { readConfigurationFile, type ConfigurationFile } from "./configuration-file.ts"

/** What a shell's `<(…)` and `/dev/stdin` are, read to their end, which is once; and an empty one. */
const DESCRIPTOR = /^\/(?:dev\/(?:stdin|null|fd\/\d+)|proc\/(?:self|\d+)\/fd\/\d+)$/

const DEFAULT_FILE = "pipelines.conf"

/** Whether a file is named, by `-c` or the variable, or the default one exists. */
export const isConfigured = (file: string | undefined): boolean =>
  (file ?? namedBy(process.env)) !== undefined || existsSync(DEFAULT_FILE)

// an empty variable counts as unset, as in a shell's ${HOOKLINE_CONFIG:-}
const namedBy = ({ HOOKLINE_CONFIG }: Environment["env"]): string | undefined =>
  HOOKLINE_CONFIG === "" ? undefined : HOOKLINE_CONFIG

/** The absolute path of the configuration file of a command. */
export const configurationPath = (file: string | undefined): string =>
  resolve(file ?? namedBy(process.env) ?? DEFAULT_FILE)

interface LoadEnvironment extends Pick<Environment, "env" | "reads" | "isReload"> {
  readonly cwd: string
  readonly kinds: readonly string[]
}

/**
 * Reads the configuration file: the one that is named, else $HOOKLINE_CONFIG, else ./pipelines.conf. Problems in it are
 * part of the result.
 *
 * @param file as `-c` gives it
 * @param environment `cwd`: absolute base of a relative path; `reads`: called with the absolute path of each file read,
 *   readable or not
 * @throws HooklineError `no_input` when it can't be read, or a file that it refers to does not answer
 */
export function* loadConfiguration(
  file: string | undefined,
  { cwd, ...environment }: LoadEnvironment,
): Steps<ConfigurationFile> {
  const fromEnv = namedBy(environment.env)
  const chosen = file ?? fromEnv ?? DEFAULT_FILE
  const path = resolve(cwd, chosen)
  yield* answering([path])
  environment.reads?.(path)
  let bytes
  try {
    bytes =
      environment.isReload !== true && DESCRIPTOR.test(path) ? readFileSync(path) : readRegularFile(path)
  } catch (error) {
    const advice = DESCRIPTOR.test(path)
      ? "a reload reads it again, so that it has to be a file"
      : file !== undefined
        ? "check the path given to -c"
        : fromEnv !== undefined
          ? "check the variable HOOKLINE_CONFIG"
          : "create one with hookline init, or name another with -c FILE or the variable HOOKLINE_CONFIG"
    throw new HooklineError(
      "no_input",
      `the configuration file ${chosen} ${whyUnreadable(error)}; ${advice}`,
      { cause: error, names: ["no_configuration"] },
    )
  }
  return yield* readConfigurationFile(bytes, chosen, { ...environment, baseDir: dirname(path) })
}
