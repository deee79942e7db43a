import { gzipSync } from "node:zlib"
import { THREADS } from "../../../src/brokers/kafka/compression.ts"
import { activeWorld } from "../world.ts"

/**
 * Has batches compressed in virtual time, as by a thread: it reads them until it is done, so what is written to their
 * memory meanwhile shows.
 */
export function simulateCompression(): void {
  const compress = (bytes: Uint8Array): Promise<Uint8Array> => {
    const world = activeWorld()!
    const process = world.current!
    const random = world.randomOf("compression")
    const ms = random.below(8) === 0 ? random.below(LONG_MS) : random.next() * USUAL_MS
    return new Promise((resolve) => process.run(() => resolve(gzipSync(bytes)), ms))
  }
  THREADS.gzip = compress
}

const USUAL_MS = 5
/** Beyond some deadlines. */
const LONG_MS = 800
