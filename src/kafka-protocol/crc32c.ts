// Hot path: every byte that a consumer reads, and every batch for a broker.
import { createRequire } from "node:module"

type Checksum = (bytes: Uint8Array) => number

/**
 * The CRC-32C of some bytes: by the processor's own instruction, with the native module that comes with the Kafka client,
 * in under half of the time that its WebAssembly takes. Not every platform has one, nor has the executable.
 */
export const crc32c: Checksum = native() ?? portable()

function native(): Checksum | undefined {
  try {
    const require = createRequire(import.meta.url)
    return (require("@node-rs/crc32") as { crc32c: Checksum }).crc32c
  } catch {
    return undefined
  }
}

/** Loaded only where it is needed: it is compiled when it is loaded, in some 20 ms. */
export function portable(): Checksum {
  return (require("@platformatic/wasm-utils") as { crc32c: Checksum }).crc32c
}
