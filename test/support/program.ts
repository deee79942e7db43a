import { join } from "node:path"
import { thisFile } from "./tools.ts"

/** Test files that start the checkout's source in any run, and why. */
const ON_SOURCE: { readonly [file: string]: string } = {
  "test/e2e/start-up.test.ts": "it counts the modules that a start loads",
}

/** What Bun runs in place of an executable, which takes 0.2 s of CPU more at each start. */
export const CLI = join(import.meta.dir, "../../src/cli.ts")

/** Hookline's command: the executable that a run of many files has built (`run-tests.ts`), or the source. */
export const PROGRAM: readonly string[] = programOf(process.env.HOOKLINE_TEST_PROGRAM)

function programOf(built: string | undefined): readonly string[] {
  return built === undefined || thisFile() in ON_SOURCE ? [process.execPath, CLI] : [built]
}
