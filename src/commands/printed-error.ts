import { namesOf, type HooklineError } from "../errors.ts"
import { escapeControls } from "../telemetry/escape-controls.ts"

/** What a command prints of the error that ends it: its message, and how to read what the error's names mean. */
export function printedError(error: HooklineError): string {
  const names = [...new Set(namesOf(error))]
  const help = names.length === 0 ? "" : `\n(see hookline help ${names.join(" ")})`
  return escapeControls(`${error.message}${help}`)
}
