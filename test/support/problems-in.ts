import { HooklineError } from "../../src/errors.ts"
import { Application } from "../../src/index.ts"
import type { Diagnosis } from "../../src/runtime/diagnosis.ts"

/** The problems for which `check` and `run` refuse a configuration file, a line each; empty if there are none. */
export function problemsIn(file: string): string {
  try {
    Application.fromFile(file).plan()
    return ""
  } catch (error) {
    if (error instanceof HooklineError && error.code === "config") return error.message
    throw error
  }
}

/** What `check` finds in a configuration file. */
export const checked = (file: string): Promise<Diagnosis> =>
  Application.fromFile(file).diagnose({ alone: false, createsAll: true })
