import { asBuffer } from "./tokens.ts"

/** The value that bytes spell as JSON; undefined: they spell none. */
export function readJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(asBuffer(bytes).toString())
  } catch {
    return undefined
  }
}
