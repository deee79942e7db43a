import { asBuffer } from "./tokens.ts"

/** The value of bytes that are JSON; undefined: they are not. */
export function readJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(asBuffer(bytes).toString())
  } catch {
    return undefined
  }
}
