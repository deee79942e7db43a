import { escapeControls } from "../telemetry/escape-controls.ts"

// How commands say things next to their results.

/** Writes a line that is no error to standard error. `console.error` would make it red on a terminal. */
export const say = (text: string): void => void process.stderr.write(`${escapeControls(text)}\n`)
